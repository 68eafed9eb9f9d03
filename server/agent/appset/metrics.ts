import { Gauge, Histogram, Registry } from "prom-client";
import { setOf } from "./reconcile/application.ts";
import type { ApplicationSet } from "./types.ts";

/** What a scrape of the metrics reads. */
export interface Sets {
  sets(): Iterable<ApplicationSet>;
  applications(): Iterable<Parameters<typeof setOf>[0]>;
}

/** The metrics of sets, under the names that dashboards for Argo CD know. `labels` lists the labels to show. */
export class SetMetrics {
  readonly registry = new Registry();
  readonly #reconcile: Histogram<"namespace" | "name">;

  constructor(seen: Sets, labels: readonly string[] = []) {
    const registers = [this.registry];
    const gauge = (
      name: string,
      help: string,
      more: string[],
      fill: (gauge: Gauge, set: ApplicationSet, base: Labels) => void,
    ) =>
      new Gauge({
        name,
        help,
        labelNames: ["namespace", "name", ...more],
        registers,
        collect() {
          this.reset();
          for (const set of seen.sets()) fill(this, set, baseOf(set));
        },
      });
    gauge(
      "argocd_appset_info",
      "Application sets with what became of their last look",
      ["resource_update_status"],
      (info, set, base) => {
        const condition = set.status?.conditions?.find(({ type }) => type === "ResourcesUpToDate");
        info.set({ ...base, resource_update_status: condition?.reason ?? "Unknown" }, 1);
      },
    );
    gauge("argocd_appset_owned_applications", "Applications that belong to a set", [], (owned, set, base) => {
      let count = 0;
      for (const app of seen.applications())
        if (setOf(app) === set.metadata.name && (app.metadata.namespace ?? base.namespace) === base.namespace) count++;
      owned.set(base, count);
    });
    if (labels.length) {
      const names = labels.map((label) => `label_${label.replace(/[^A-Za-z0-9_]/g, "_")}`);
      gauge("argocd_appset_labels", "Labels of application sets", names, (shown, set, base) => {
        const values = names.map((name, i) => [name, set.metadata.labels?.[labels[i]!] ?? ""]);
        shown.set({ ...base, ...Object.fromEntries(values) }, 1);
      });
    }
    this.#reconcile = new Histogram({
      name: "argocd_appset_reconcile",
      help: "Seconds one look at an application set took",
      labelNames: ["namespace", "name"],
      buckets: [0.25, 0.5, 1, 2, 4, 8, 16],
      registers,
    });
  }

  reconciled(set: ApplicationSet, ms: number): void {
    this.#reconcile.observe(baseOf(set), ms / 1_000);
  }

  forget(set: ApplicationSet): void {
    this.#reconcile.remove(baseOf(set));
  }
}

type Labels = { namespace: string; name: string };
const baseOf = ({ metadata: { name, namespace = "" } }: ApplicationSet): Labels => ({ namespace, name });
