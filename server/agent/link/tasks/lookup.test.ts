import type { Application } from "../../controller/application.ts";
import { refusedRevision, wishOf } from "./lookup.ts";

const wishes: [string, ReturnType<typeof wishOf>][] = [
  ["/version", undefined],
  ["/api", undefined],
  ["/api/v1", undefined],
  ["/apis/apps/v1", undefined],
  ["/api/v1/secrets?limit=5", { group: "", resource: "secrets", verb: "list" }],
  ["/api/v1/nodes/n", { group: "", resource: "nodes", name: "n", verb: "get" }],
  ["/api/v1/namespaces", { group: "", resource: "namespaces", verb: "list" }],
  ["/api/v1/namespaces/shop", { group: "", resource: "namespaces", namespace: "shop", name: "shop", verb: "get" }],
  ["/api/v1/namespaces/shop/secrets", { group: "", resource: "secrets", namespace: "shop", verb: "list" }],
  [
    "/apis/apps/v1/namespaces/shop/deployments/web",
    { group: "apps", resource: "deployments", namespace: "shop", name: "web", verb: "get" },
  ],
];
test.each(wishes)("what is asked of the API server is what the chart asks for: %s", (path, want) => {
  expect(wishOf(path)).toEqual(want);
});

test("charts that read the cluster are shown at revisions that are followed or were deployed, and at no other", () => {
  const app = (annotations?: Record<string, string>) =>
    ({
      metadata: { name: "a", annotations },
      spec: { source: { repoURL: "u", targetRevision: "main" } },
      status: { sync: { status: "Synced", revision: "now" }, history: [{ id: 0, revision: "before" }] },
    }) as unknown as Application;
  const reads = app({ "outpost.dev/helm-lookup": "reader" });
  for (const one of [undefined, "main", "now", "before"]) expect(refusedRevision(reads, one)).toBeUndefined();
  for (const one of ["feature", "refs/pull/1/head", "main~1", ""]) expect(refusedRevision(reads, one)).toMatchObject({ kind: "stop" });
  expect(refusedRevision(app(), "feature")).toBeUndefined();
});
