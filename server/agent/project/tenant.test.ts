import {
  ALLOWED_SCOPES,
  distance,
  MANAGED,
  marksIn,
  missingTenant,
  scopesAbove,
  serves,
  sharesWith,
  sharingOf,
  TENANT,
  tenantOf,
  WITHIN,
} from "./tenant.ts";

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
  const annotations = {
    ...(owner ? { [TENANT]: owner } : {}),
    ...(allowed === undefined ? {} : { [ALLOWED_SCOPES]: allowed }),
  };
  const labels: Record<string, string> = delivered ? { [MANAGED]: "true" } : {};
  expect(sharesWith(sharingOf({ metadata: { annotations, labels } }), tenant)).toBe(want);
});

test("an empty name limits nothing", () => {
  expect(sharingOf({ metadata: { annotations: { [WITHIN]: "" } } }).within).toBeUndefined();
});

const held = (name: string, marks: Record<string, string> = {}, managed = "true") => ({
  metadata: {
    name,
    labels: { "outpost.dev/managed": managed },
    annotations: { "outpost.dev/id": "web", "outpost.dev/scope": "acme/a/shop", ...marks },
  },
});

test.each([
  ["web", undefined],
  ["repo-web", undefined],
  ["repocreds-web", undefined],
  ["cluster-web", undefined],
  ["web-0a1b2c", "a/shop"],
  ["repo-web-0a1b2c", "a/shop"],
  ["cluster-web-0a1b2c", "a/shop"],
])("an object that an older agent wrote tells by its name whose it is: %s", (name, want) => {
  expect([tenantOf(held(name)), missingTenant(held(name))]).toEqual([want, want]);
  expect(tenantOf(held(name, {}, "false"))).toBeUndefined();
  expect(missingTenant(held(name, { [TENANT]: "a/shop" }))).toBeUndefined();
});

test("scopes above a user, nearest first", () => {
  expect(scopesAbove(undefined)).toEqual([undefined]);
  expect(scopesAbove("a/-")).toEqual(["a/-", undefined]);
  expect(scopesAbove("a/shop")).toEqual(["a/shop", "a/-", undefined]);
  expect([distance("a/shop", "a/shop"), distance("a/-", "a/shop"), distance(undefined, "a/shop")]).toEqual([0, 1, 2]);
});

test("marks that only Outpost sets", () => {
  const annotations = { [TENANT]: "a/-", "outpost.dev/depends-on": "x", "outpost.dev/uid": "u", other: "o" };
  const object = { metadata: { labels: { "outpost.dev/managed": "true", "outpost.dev/app": "x" }, annotations } };
  expect(marksIn(object, "a/-")).toEqual(["outpost.dev/managed", "outpost.dev/uid"]);
  expect(marksIn(object, "b/-")).toEqual(["outpost.dev/managed", TENANT, "outpost.dev/uid"]);
  expect(marksIn({ metadata: {} }, undefined)).toEqual([]);
});
