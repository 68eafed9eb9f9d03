import { serves, TENANT, tenantOf } from "./tenant.ts";

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
