import { hostname } from "node:os";
import { pino } from "pino";
import { collectDefaultMetrics, Gauge, Registry } from "prom-client";
import packageJson from "../../../package.json" with { type: "json" };
import { plainHttpWarning } from "../../base/cloud/plain-http.ts";
import { startProbes } from "../../base/process/probes.ts";
import { onAbort } from "../../base/process/signal.ts";
import { KubeClient } from "../../kube/client.ts";
import { loadConfig } from "../../kube/config.ts";
import { withLease } from "../../kube/lease.ts";
import { endpointOf } from "../../link/settings.ts";
import { whileAlone } from "../controller/argo-cd.ts";
import { type Engine, localRepo, startEngine } from "../controller/engine.ts";
import { noteHeld } from "../controller/held.ts";
import { RepoClient } from "../repo/client.ts";
import { repoSecret } from "../repo/secret.ts";
import { isBeside, noRepo } from "./queries/beside.ts";
import { serve } from "./session.ts";
import { ReadsClient } from "./tasks/remote/client.ts";
import { lazily, readsSecret } from "./tasks/remote/main.ts";

/** The Lease of the replica that talks, and of the controller in the same process. */
const LEASE = "outpost-agent";

/**
 * `outpost agent`: the link between this cluster and the service; with `--all` the controller and a repo server too.
 *
 *   OUTPOST_ENDPOINT          the service
 *   OUTPOST_TOKEN             enrolment token, or OUTPOST_TOKEN_FILE; only needed until the agent has enrolled
 *   OUTPOST_CA_FILE           certificates to trust besides the usual ones
 *   HTTPS_PROXY, NO_PROXY     as everywhere
 *   KUBECONFIG                the cluster, when not running in it
 *   POD_NAMESPACE             where Applications and Secrets are (or OUTPOST_NAMESPACE; default outpost-agent)
 *   OUTPOST_ENGINE            "none": beside an Argo CD, with no controller and no repo server of ours (default "outpost")
 *   OUTPOST_APPLICATION_NAMESPACES, OUTPOST_APPLICATIONSET_NAMESPACES  as the controller has them: objects there are reported too
 *   OUTPOST_REPO_URL          the repo server, with OUTPOST_REPO_TOKEN_FILE; without it, one in this process
 *   OUTPOST_CONTROLLER_URL    the controller, with OUTPOST_READS_TOKEN_FILE: it answers questions about the cluster, and this program needs no rights
 *                             outside its namespace. Without it, they are answered in this process
 *   OUTPOST_SCM_PROVIDERS     as the controller has it: the only hosts that sets may ask when it is tried what they would make
 *   OUTPOST_LEADER_ELECTION   "false": no Lease (default: the Lease `outpost-agent` in a Pod)
 *   OUTPOST_HEALTH_LISTEN     probes and metrics (default 0.0.0.0:8081 in a Pod, else none)
 */
export async function runAgent(env: NodeJS.ProcessEnv, signal: AbortSignal, flags: { all?: boolean } = {}): Promise<number | undefined> {
  const log = pino({ level: env.OUTPOST_LOG_LEVEL || "info", name: "agent" });
  const endpoint = endpointOf(env);
  if (endpoint.kind !== "done") {
    log.fatal({ reason: endpoint.reason }, endpoint.message);
    return 1;
  }
  const plain = plainHttpWarning(endpoint.value, env);
  if (plain) log.warn({ endpoint: endpoint.value }, plain);
  const inPod = Boolean(env.POD_NAME);
  const config = loadConfig(env);
  const namespace = env.POD_NAMESPACE || env.OUTPOST_NAMESPACE || "outpost-agent";
  const client = new KubeClient(config);
  const beside = isBeside(env);
  if (beside && flags.all) {
    log.fatal({}, "OUTPOST_ENGINE=none leaves the work to Argo CD, and --all runs Outpost's controller: leave one of them out");
    return 1;
  }
  const remote = !flags.all && !beside && env.OUTPOST_REPO_URL ? new RepoClient(env.OUTPOST_REPO_URL, repoSecret(env)) : undefined;
  const local =
    remote || beside ? undefined : await localRepo(inPod && !env.OUTPOST_WORK ? { ...env, OUTPOST_WORK: "/var/lib/outpost/mirrors" } : env);
  const repo = remote ?? local?.door ?? noRepo();
  const reads = !flags.all && env.OUTPOST_CONTROLLER_URL ? new ReadsClient(env.OUTPOST_CONTROLLER_URL, readsSecret(env)) : undefined;
  // A repo server elsewhere must not see a cluster: where questions are answered here, charts that look things up are rendered here too.
  const lookups = lazily(() => localRepo(env));
  const lookup = async () => local?.door ?? (await lookups.get()).door;
  let engine: Engine | undefined;
  // Argo CD works in its place: that is no fault of ours.
  let waits = false;
  let parts: Parameters<NonNullable<Parameters<typeof serve>[0]["started"]>>[0] | undefined;

  const registry = new Registry();
  // With the engine in this process its registry has them.
  if (!flags.all) collectDefaultMetrics({ register: registry });
  const gauge = (name: string, help: string, value: () => number) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(value());
      },
    });
  gauge("outpost_link_connected", "1 while a session with the service is open", () => (parts?.link.session.open ? 1 : 0));
  gauge("outpost_link_reports_pending", "Objects whose latest state the service does not have yet", () => parts?.link.reports.size ?? 0);
  gauge("outpost_link_discovered", "Objects of the agent's namespaces that the service is told of", () => parts?.discovery.size ?? 0);
  gauge(
    "outpost_link_discovered_pending",
    "Of these, those whose latest state the service does not have yet",
    () => parts?.discovery.pending ?? 0,
  );
  gauge("outpost_link_deliveries_pending", "Deliveries in work, refused ones too", () => parts?.inbox.size ?? 0);
  const listen = env.OUTPOST_HEALTH_LISTEN || (inPod ? "0.0.0.0:8081" : undefined);
  // A replica that waits for the Lease is ready: it would take over at once. So is one that the service does not answer: it cannot be helped by
  // a restart, and its log says why.
  const metrics = async () => (await registry.metrics()) + ((await engine?.metrics()) ?? "");
  const probes = listen
    ? await startProbes({ listen, ready: () => !flags.all || !parts || waits || engine?.ready() === true, metrics })
    : undefined;

  const lead = async (leading: AbortSignal) => {
    // The engine does not need the service, nor the link the engine: neither waits for the other.
    const started: Parameters<typeof serve>[0]["started"] = (now) => {
      parts = now;
    };
    const linked = serve({
      endpoint: endpoint.value,
      env,
      client,
      namespace,
      repo,
      ...(beside ? { beside } : { lookup }),
      reads,
      version: packageJson.version,
      log,
      signal: leading,
      started,
    });
    await Promise.all([linked, flags.all ? runEngine(leading) : undefined]);
    parts = undefined;
  };
  const runEngine = async (leading: AbortSignal) => {
    const part = log.child({ part: "controller" });
    const held = (why: string | undefined) => {
      waits = why !== undefined;
      return noteHeld(client, { namespace, lease: LEASE, log: part }, why);
    };
    await whileAlone({ client, namespace, log: part, signal: leading, held }, async (turn) => {
      engine = await startEngine({ env, log: part, signal: turn, config, repo });
      await new Promise<void>((resolve) => onAbort(turn, resolve));
      await engine.stop();
      engine = undefined;
    });
  };
  try {
    if (env.OUTPOST_LEADER_ELECTION === "false" || (!inPod && env.OUTPOST_LEADER_ELECTION !== "true")) await lead(signal);
    else {
      const holder = env.POD_NAME || `${hostname()}-${process.pid}`;
      // A lost Lease is nothing to die of: this replica goes back into the line.
      while (!signal.aborted) await withLease({ client, namespace, name: LEASE, holder, signal }, lead);
    }
  } finally {
    await probes?.stop();
    await remote?.close();
    await local?.close();
    await reads?.close();
    await lookups.made()?.then(({ close }) => close());
    await client.close();
  }
  return undefined;
}
