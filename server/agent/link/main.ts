import { hostname } from "node:os";
import { type Logger, pino } from "pino";
import packageJson from "../../../package.json" with { type: "json" };
import { plainHttpWarning } from "../../base/cloud/plain-http.ts";
import { onAbort } from "../../base/process/signal.ts";
import { KubeClient } from "../../kube/client.ts";
import { loadConfig } from "../../kube/config.ts";
import { withLease } from "../../kube/lease.ts";
import { endpointOf } from "../../link/settings.ts";
import { whileAlone } from "../controller/argo-cd.ts";
import { localRepo, startEngine } from "../controller/engine.ts";
import { noteHeld } from "../controller/held.ts";
import { RepoClient } from "../repo/client.ts";
import { repoSecret } from "../repo/secret.ts";
import type { RepoApi } from "../repo/types.ts";
import { openProbes, type Running } from "./probes.ts";
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
export async function runAgent(
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
  flags: { all?: boolean } = {},
): Promise<number | undefined> {
  const log = pino({ level: env.OUTPOST_LOG_LEVEL || "info", name: "agent" });
  const endpoint = endpointOf(env);
  if (endpoint.kind !== "done") {
    log.fatal({ reason: endpoint.reason }, endpoint.message);
    return 1;
  }
  const plain = plainHttpWarning(endpoint.value, env);
  if (plain) log.warn({ endpoint: endpoint.value }, plain);
  const all = flags.all === true;
  if (isBeside(env) && all) {
    log.fatal(
      {},
      "OUTPOST_ENGINE=none leaves the work to Argo CD, and --all runs Outpost's controller: leave one of them out",
    );
    return 1;
  }
  const inPod = Boolean(env.POD_NAME);
  const namespace = env.POD_NAMESPACE || env.OUTPOST_NAMESPACE || "outpost-agent";
  const client = new KubeClient(loadConfig(env));
  const servers = await openServers(env, { all, inPod });
  const running: Running = { waits: false };
  const probes = await openProbes(env, { all, inPod }, running);
  const lead = async (leading: AbortSignal) => {
    // The engine does not need the service, nor the link the engine: neither waits for the other.
    const linked = serve({
      endpoint: endpoint.value,
      env,
      client,
      namespace,
      ...servers.parts,
      version: packageJson.version,
      log,
      signal: leading,
      started: (parts) => {
        running.parts = parts;
      },
    });
    const engine = all
      ? runEngine(
          { env, client, namespace, log: log.child({ part: "controller" }), repo: servers.parts.repo },
          running,
          leading,
        )
      : undefined;
    await Promise.all([linked, engine]);
    running.parts = undefined;
  };
  try {
    if (env.OUTPOST_LEADER_ELECTION === "false" || (!inPod && env.OUTPOST_LEADER_ELECTION !== "true"))
      await lead(signal);
    else {
      const holder = env.POD_NAME || `${hostname()}-${process.pid}`;
      // A lost Lease is no reason to exit: this replica waits for the Lease again.
      while (!signal.aborted) await withLease({ client, namespace, name: LEASE, holder, signal }, lead);
    }
  } finally {
    await probes?.stop();
    await servers.close();
    await client.close();
  }
  return undefined;
}

/** The controller in this process, while no Argo CD works in its place. */
async function runEngine(
  {
    env,
    client,
    namespace,
    log,
    repo,
  }: { env: NodeJS.ProcessEnv; client: KubeClient; namespace: string; log: Logger; repo: RepoApi },
  running: Running,
  leading: AbortSignal,
): Promise<void> {
  const held = (why: string | undefined) => {
    running.waits = why !== undefined;
    return noteHeld(client, { namespace, lease: LEASE, log }, why);
  };
  await whileAlone({ client, namespace, log, signal: leading, held }, async (turn) => {
    const engine = await startEngine({ env, log, signal: turn, config: client.config, repo });
    running.engine = engine;
    await new Promise<void>((resolve) => onAbort(turn, resolve));
    await engine.stop();
    running.engine = undefined;
  });
}

/** What the link asks: a repo server, and where questions about the cluster are answered. */
async function openServers(env: NodeJS.ProcessEnv, { all, inPod }: { all: boolean; inPod: boolean }) {
  const beside = isBeside(env);
  const remote =
    !all && !beside && env.OUTPOST_REPO_URL ? new RepoClient(env.OUTPOST_REPO_URL, repoSecret(env)) : undefined;
  const mirrors = inPod && !env.OUTPOST_WORK ? { ...env, OUTPOST_WORK: "/var/lib/outpost/mirrors" } : env;
  const local = remote || beside ? undefined : await localRepo(mirrors);
  const reads =
    !all && env.OUTPOST_CONTROLLER_URL ? new ReadsClient(env.OUTPOST_CONTROLLER_URL, readsSecret(env)) : undefined;
  // A repo server elsewhere must not see a cluster: where questions are answered here, charts that look things up are rendered here too.
  const lookups = lazily(() => localRepo(env));
  const lookup = async () => local?.door ?? (await lookups.get()).door;
  return {
    parts: { repo: remote ?? local?.door ?? noRepo(), reads, ...(beside ? { beside } : { lookup }) },
    close: async () => {
      await remote?.close();
      await local?.close();
      await reads?.close();
      await lookups.made()?.then(({ close }) => close());
    },
  };
}
