import { ALLOWED_SCOPES, MANAGED, serves, sharesWith, sharingOf, TENANT, tenantOf, WITHIN } from "./tenant.ts";

test("the tenant of an object is what the link wrote", () => {
  expect(tenantOf({ metadata: {} })).toBeUndefined();
  expect(tenantOf({ metadata: { annotations: { [TENANT]: "" } } })).toBeUndefined();
  expect(tenantOf({ metadata: { annotations: { [TENANT]: "acme/shop" } } })).toBe("acme/shop");
});

test.each([
  [undefined, undefined, true],
  [undefined, "acme/-", true],
  [undefined, "acme/shop", true],
  ["acme/-", undefined, false],
  ["acme/-", "acme/-", true],
  ["acme/-", "acme/shop", true],
  ["acme/-", "other/shop", false],
  ["acme/shop", "acme/-", false],
  ["acme/shop", "acme/shop", true],
  ["acme/shop", "acme/other", false],
  ["acme/shop", "other/shop", false],
])("an object of %s used by %s: %s", (owner, user, want) => {
  expect(serves(owner, user)).toBe(want);
});

// owner of the project | allowedScopes | made by the service | tenant | may use it
test.each<[string | undefined, string | undefined, boolean, string, boolean]>([
  [undefined, undefined, true, "acme/-", true],
  [undefined, undefined, true, "acme/shop", true],
  [undefined, undefined, false, "acme/-", false],
  [undefined, "acme", false, "acme/-", true],
  [undefined, "", true, "acme/-", false],
  [undefined, "acme", true, "acme/-", true],
  [undefined, "acme", true, "acme/shop", true],
  [undefined, "acme/shop", true, "acme/shop", true],
  [undefined, "acme/shop", true, "acme/-", false],
  [undefined, "acme/shop", true, "acme/other", false],
  [undefined, "other, acme", true, "acme/-", true],
  [undefined, "acm", true, "acme/-", false],
  [undefined, "-", true, "acme/-", false],
  ["acme/-", undefined, true, "acme/-", true],
  ["acme/-", undefined, true, "acme/shop", true],
  ["acme/-", undefined, true, "other/-", false],
  ["acme/-", "", true, "acme/-", true],
  ["acme/-", "", true, "acme/shop", false],
  ["acme/-", "other", true, "other/-", true],
  ["acme/shop", undefined, true, "acme/-", false],
  ["acme/shop", undefined, true, "acme/other", false],
  ["acme/shop", "acme/other", true, "acme/other", true],
])("a project of %s for %j, delivered %s, used by %s: %s", (owner, allowed, delivered, tenant, want) => {
  const annotations = { ...(owner ? { [TENANT]: owner } : {}), ...(allowed === undefined ? {} : { [ALLOWED_SCOPES]: allowed }) };
  const labels: Record<string, string> = delivered ? { [MANAGED]: "true" } : {};
  expect(sharesWith(sharingOf({ metadata: { annotations, labels } }), tenant)).toBe(want);
});

test("an empty name limits nothing", () => {
  expect(sharingOf({ metadata: { annotations: { [WITHIN]: "" } } }).within).toBeUndefined();
});
