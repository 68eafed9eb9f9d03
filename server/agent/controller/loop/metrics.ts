import { Counter, Gauge, Histogram, Registry } from "prom-client";
import type { Application } from "../application.ts";

const keyOf = ({ metadata: { namespace = "", name } }: Application) => `${namespace}/${name}`;

const ENDS = ["Succeeded", "Failed", "Error"];

/** The controller's metrics, under the names that dashboards for Argo CD use. */
export class Metrics {
  readonly registry = new Registry();
  readonly #info: Gauge<"namespace" | "name" | "sync_status" | "health_status">;
  readonly #reconcile: Histogram<"namespace">;
  readonly #syncs: Counter<"namespace" | "name" | "phase">;
  readonly #depth: Gauge;
  readonly #last = new Map<string, { labels: Record<string, string>; finishedAt?: string }>();

  constructor() {
    const registers = [this.registry];
    this.#info = new Gauge({
      name: "argocd_app_info",
      help: "Applications with their sync and health status",
      labelNames: ["namespace", "name", "sync_status", "health_status"],
      registers,
    });
    this.#reconcile = new Histogram({
      name: "argocd_app_reconcile",
      help: "Seconds one look at an application took",
      labelNames: ["namespace"],
      buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8, 16],
      registers,
    });
    this.#syncs = new Counter({
      name: "argocd_app_sync_total",
      help: "Finished syncs",
      labelNames: ["namespace", "name", "phase"],
      registers,
    });
    this.#depth = new Gauge({
      name: "outpost_controller_queue_depth",
      help: "Applications that wait to be looked at",
      registers,
    });
  }

  reconciled(app: Application | undefined, ms: number, depth: number): void {
    this.#depth.set(depth);
    if (!app) return;
    const { name, namespace = "" } = app.metadata;
    this.#reconcile.observe({ namespace }, ms / 1_000);
    const labels = {
      namespace,
      name,
      sync_status: app.status?.sync?.status ?? "",
      health_status: app.status?.health?.status ?? "",
    };
    const last = this.#last.get(keyOf(app));
    if (last) this.#info.remove(last.labels);
    this.#info.set(labels, 1);
    const { phase, finishedAt } = app.status?.operationState ?? {};
    if (finishedAt && phase && last && last.finishedAt !== finishedAt) this.#syncs.inc({ namespace, name, phase });
    this.#last.set(keyOf(app), { labels, finishedAt });
  }

  forget(app: Application): void {
    const last = this.#last.get(keyOf(app));
    if (last) this.#info.remove(last.labels);
    // Names come and go; each would leave a line for as long as this runs.
    const { name, namespace = "" } = app.metadata;
    for (const phase of ENDS) this.#syncs.remove({ namespace, name, phase });
    this.#last.delete(keyOf(app));
  }
}
