import type { Application } from "../../controller/application.ts";
import { refusedRevision } from "./lookup.ts";

test("charts that read the cluster are shown at revisions that are followed or were deployed, and at no other", () => {
  const app = (annotations?: Record<string, string>) =>
    ({
      metadata: { name: "a", annotations },
      spec: { source: { repoURL: "u", targetRevision: "main" } },
      status: { sync: { status: "Synced", revision: "now" }, history: [{ id: 0, revision: "before" }] },
    }) as unknown as Application;
  const reads = app({ "outpost.dev/helm-lookup": "reader" });
  for (const one of [undefined, "main", "now", "before"]) expect(refusedRevision(reads, one)).toBeUndefined();
  for (const one of ["feature", "refs/pull/1/head", "main~1", ""])
    expect(refusedRevision(reads, one)).toMatchObject({ kind: "stop" });
  expect(refusedRevision(app(), "feature")).toBeUndefined();
});
