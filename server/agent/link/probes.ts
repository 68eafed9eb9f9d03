import { collectDefaultMetrics, Gauge, Registry } from "prom-client";
import { type Probes, startProbes } from "../../base/process/probes.ts";
import type { Engine } from "../controller/engine.ts";
import type { ServeOptions } from "./session.ts";

/** What of the agent runs now. */
export interface Running {
  engine?: Engine | undefined;
  /** Argo CD runs instead of the engine, which is not an error. */
  waits: boolean;
  parts?: Parameters<NonNullable<ServeOptions["started"]>>[0] | undefined;
}

/** Answers probes, and metrics of the link and of the engine; undefined where nothing is to listen. */
export async function openProbes(
  env: NodeJS.ProcessEnv,
  { all, inPod }: { all: boolean; inPod: boolean },
  running: Running,
): Promise<Probes | undefined> {
  const listen = env.OUTPOST_HEALTH_LISTEN || (inPod ? "0.0.0.0:8081" : undefined);
  if (!listen) return undefined;
  const registry = new Registry();
  // With the engine in this process its registry has them.
  if (!all) collectDefaultMetrics({ register: registry });
  addGauges(registry, running);
  const metrics = async () => (await registry.metrics()) + ((await running.engine?.metrics()) ?? "");
  // A replica that waits for the Lease is ready: it would take over at once. So is one that the service does not answer: it cannot be helped by
  // a restart, and its log says why.
  const ready = () => !all || !running.parts || running.waits || running.engine?.ready() === true;
  return startProbes({ listen, ready, metrics });
}

function addGauges(registry: Registry, running: Running): void {
  const gauge = (name: string, help: string, value: (parts: NonNullable<Running["parts"]>) => number) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(running.parts ? value(running.parts) : 0);
      },
    });
  gauge("outpost_link_connected", "1 while a session with the service is open", ({ link }) =>
    link.session.open ? 1 : 0,
  );
  gauge(
    "outpost_link_reports_pending",
    "Objects whose latest state the service does not have yet",
    ({ link }) => link.reports.size,
  );
  gauge(
    "outpost_link_discovered",
    "Objects of the agent's namespaces that the service is told of",
    ({ discovery }) => discovery.size,
  );
  const pending = "Of these, those whose latest state the service does not have yet";
  gauge("outpost_link_discovered_pending", pending, ({ discovery }) => discovery.pending);
  gauge("outpost_link_deliveries_pending", "Deliveries in work, refused ones too", ({ inbox }) => inbox.size);
}
