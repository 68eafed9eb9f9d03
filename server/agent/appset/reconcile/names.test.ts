import { TENANT } from "../../project/tenant.ts";
import { endingOf, isNamed } from "./names.ts";

const set = (name: string, id?: string, tenant: string | undefined = "b/-") => ({
  apiVersion: "argoproj.io/v1alpha1",
  kind: "ApplicationSet",
  metadata: { name, annotations: { ...(tenant ? { [TENANT]: tenant } : {}), ...(id ? { "outpost.dev/id": id } : {}) } },
});

test.each<[string, ReturnType<typeof set>, string | undefined]>([
  ["what follows its id", set("shops-b0b0b0b0b0b0", "shops"), "-b0b0b0b0b0b0"],
  ["what follows its id, six digits of an older agent", set("shops-b0b0b0", "shops"), "-b0b0b0"],
  ["of an id that ends in digits itself", set("x-a1a1a1a1a1a1-b0b0b0b0b0b0", "x-a1a1a1a1a1a1"), "-b0b0b0b0b0b0"],
  ["its last twelve digits where it says no id", set("shops-b0b0b0b0b0b0"), "-b0b0b0b0b0b0"],
  ["none where it has no digits", set("shops"), undefined],
  ["none in the agent's own scope", set("shops-b0b0b0b0b0b0", "shops", ""), undefined],
])("the ending of a tenant's set is %s", (_, one, want) => {
  expect(endingOf(one)).toBe(want);
});

test("a rule of a tenant's set names an application as its template does, or as the namespace does", () => {
  const mine = set("shops-b0b0b0b0b0b0", "shops");
  expect(["web", "web-b0b0b0b0b0b0", "api"].map((rule) => isNamed(mine, rule, "web-b0b0b0b0b0b0"))).toEqual([
    true,
    true,
    false,
  ]);
  expect(isNamed(mine, "web", "web")).toBe(true);
});
