import type { KubeObject } from "../../../kube/object.ts";
import { hideSecrets } from "./mask.ts";

const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";
const secret = (data: unknown, annotations?: Record<string, string>, more: object = {}): KubeObject => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: "s", ...(annotations ? { annotations } : {}) },
  ...(data === undefined ? {} : { data }),
  ...more,
});
const [A, B, C] = ["++++++++", "++++++++++++", "++++++++++++++++"];
const b64 = (text: string) => Buffer.from(text).toString("base64");

test.each<[string, (KubeObject | undefined)[], unknown[]]>([
  ["equal values look equal", [secret({ k: "x" }), secret({ k: "x" })], [{ k: A }, { k: A }]],
  [
    "different values look different",
    [secret({ k: "x" }), secret({ k: "y" }), secret({ k: "z" })],
    [{ k: A }, { k: B }, { k: C }],
  ],
  [
    "each key counts for itself",
    [secret({ a: "x", b: "y" }), secret({ a: "y", b: "y" })],
    [
      { a: A, b: A },
      { a: B, b: A },
    ],
  ],
  ["a key that one lacks", [secret({ a: "x" }), secret({ b: "x" })], [{ a: A }, { b: A }]],
  [
    "text is what it becomes",
    [secret(undefined, undefined, { stringData: { k: "x" } }), secret({ k: b64("x") })],
    [{ k: A }, { k: A }],
  ],
  ["no value", [secret({ k: null }), secret({ k: "" })], [{ k: A }, { k: A }]],
  ["an absent state", [undefined, secret({ k: "x" })], [undefined, { k: A }]],
  ["no data", [secret(undefined), secret({ k: "x" })], [undefined, { k: A }]],
  ["of another shape", [secret("plain"), secret({ k: { deep: "x" } })], [A, { k: A }]],
])("%s", (_name, states, want) => {
  expect(hideSecrets(states).map((one) => one?.data)).toEqual(want);
  expect(hideSecrets(states).some((one) => one && Object.hasOwn(one, "stringData"))).toBe(false);
});

test("what was applied last is hidden with the same signs, and whole when it cannot be read", () => {
  const applied = JSON.stringify(secret({ k: "old" }));
  const [target, live] = hideSecrets([secret({ k: "new" }), secret({ k: "live" }, { [LAST_APPLIED]: applied })]);
  expect([target!.data, live!.data]).toEqual([{ k: A }, { k: B }]);
  expect(JSON.parse(live!.metadata.annotations![LAST_APPLIED]!).data).toEqual({ k: C });
  const [broken] = hideSecrets([secret({ k: "x" }, { [LAST_APPLIED]: '{"data":{"k":"x"' })]);
  expect(broken!.metadata.annotations![LAST_APPLIED]).toBe(A);
});

test("annotations that the settings name are hidden too, and the given objects stay as they are", () => {
  const given = secret({ k: "x" }, { "example.com/token": "t", other: "o" });
  const [hidden] = hideSecrets([given], ["example.com/token"]);
  expect(hidden!.metadata.annotations).toEqual({ "example.com/token": A, other: "o" });
  expect(given).toEqual(secret({ k: "x" }, { "example.com/token": "t", other: "o" }));
});
