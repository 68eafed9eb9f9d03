import { TENANT } from "../../project/tenant.ts";
import { MANAGED, MARK } from "../names.ts";
import { missingTenant } from "./leftovers.ts";

// scope of the agent | scope that the object was delivered for | its mark | what is missing
test.each<[string | undefined, string, string | undefined, string | undefined]>([
  ["-/-", "default/acme/-", undefined, "acme/-"],
  ["-/-", "default/acme/shop", undefined, "acme/shop"],
  ["-/-", "default/-/-", undefined, undefined],
  ["-/-", "default/acme/-", "acme/-", undefined],
  ["-/-", "another/acme/-", undefined, undefined],
  ["acme/-", "default/acme/shop", undefined, "acme/shop"],
  ["acme/-", "default/acme/-", undefined, undefined],
  ["acme/-", "default/other/shop", undefined, undefined],
  ["acme/-", "default/-/-", undefined, undefined],
  ["acme/shop", "default/acme/shop", undefined, undefined],
  ["acme/shop", "default/acme/-", undefined, undefined],
  [undefined, "default/acme/-", undefined, undefined],
])("an agent of %s holds an object of %s marked %s: %s", (scope, delivered, mark, want) => {
  const annotations = { [MARK.scope]: delivered, ...(mark ? { [TENANT]: mark } : {}) };
  const metadata = { name: "x", labels: { [MANAGED]: "true" }, annotations };
  expect(missingTenant({ account: "default", scope }, { apiVersion: "v1", kind: "X", metadata })).toBe(want);
  expect(
    missingTenant({ account: "default", scope }, { apiVersion: "v1", kind: "X", metadata: { name: "x", annotations } }),
  ).toBeUndefined();
});
