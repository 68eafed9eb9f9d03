import { masked, toYaml } from "./mask.ts";

const secret = (value: string) => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: {
    name: "a",
    uid: "x",
    annotations: { "kubectl.kubernetes.io/last-applied-configuration": value, keep: "this" },
  },
  data: { password: Buffer.from(value).toString("base64") },
  stringData: { other: value },
});

test("a Secret's values are digests that only say whether they are equal", () => {
  const [a, b, c] = [masked(secret("canary"), "s"), masked(secret("canary"), "s"), masked(secret("another"), "s")];
  expect(a).toEqual(b);
  expect(a.data.password).not.toBe(c.data.password);
  expect(a.data.password).toBe(a.stringData.other);
  expect(a.data.password).not.toBe(masked(secret("canary"), "t").data.password);
  for (const text of [JSON.stringify(a), toYaml(a)]) {
    expect(text).not.toContain("canary");
    expect(text).not.toContain(Buffer.from("canary").toString("base64"));
  }
  expect(a.metadata.annotations).toEqual({ keep: "this" });
});
test("other kinds are shown as they are, without what the server keeps", () => {
  const map = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "a", uid: "x", resourceVersion: "1" },
    data: { a: "b" },
  };
  expect(toYaml(masked(map, "s"))).toBe("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  a: b\n");
});
