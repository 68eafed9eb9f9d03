import type { Application } from "../application.ts";
import { Metrics } from "./metrics.ts";

test("applications that are gone leave no line", async () => {
  const metrics = new Metrics();
  const app = (n: number, finishedAt?: string) =>
    ({
      metadata: { name: `app-${n}`, namespace: "here" },
      status: { sync: { status: "Synced" }, operationState: { phase: "Succeeded", finishedAt } },
    }) as unknown as Application;
  for (let n = 0; n < 50; n++) {
    metrics.reconciled(app(n, "2026-01-01T00:00:00Z"), 1, 0);
    metrics.reconciled(app(n, "2026-01-01T00:00:01Z"), 1, 0);
    if (n > 0) metrics.forget(app(n));
  }
  const text = await metrics.registry.metrics();
  expect([...new Set(text.match(/app-\d+/g))]).toEqual(["app-0"]);
  expect(text).toContain('argocd_app_sync_total{namespace="here",name="app-0",phase="Succeeded"} 1');
});
