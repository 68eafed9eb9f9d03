import { hostname } from "node:os";
import { pino } from "pino";
import { startProbes } from "../../base/process/probes.ts";
import { onAbort } from "../../base/process/signal.ts";
import { KubeClient } from "../../kube/client.ts";
import { loadConfig } from "../../kube/config.ts";
import { withLease } from "../../kube/lease.ts";
import { whileAlone } from "./argo-cd.ts";
import { type Engine, startEngine } from "./engine.ts";
import { noteHeld } from "./held.ts";
import { Shard } from "./loop/shard.ts";

/**
 * `outpost controller`: keeps what applications describe in the cluster. The command also answers the link's questions, see link/tasks/remote/main.ts.
 *
 *   KUBECONFIG                the cluster, when not running in it
 *   POD_NAMESPACE             where Applications and Secrets are (or OUTPOST_NAMESPACE; default outpost-agent)
 *   OUTPOST_NAMESPACED        "true": manage only the own namespace and those in OUTPOST_NAMESPACES
 *   OUTPOST_APPLICATION_NAMESPACES     other namespaces with Applications: names, globs and /expressions/ with commas between (default: what
 *                             application.namespaces of argocd-cmd-params-cm says)
 *   OUTPOST_APPLICATIONSET_NAMESPACES  the same for ApplicationSets (applicationsetcontroller.namespaces)
 *   OUTPOST_REPO_URL          the repo server, with OUTPOST_REPO_TOKEN_FILE; without it, one in this process
 *   OUTPOST_EXEC_COMMANDS     credential plugins that clusters may name, as they name them, with commas between (default none; also for the link)
 *   OUTPOST_EXEC_VARIABLES    variables that these may be given (default some of AWS's and Azure's that say who signs in)
 *   OUTPOST_EXEC_ORIGINS      the only servers that they run for: origins such as https://*.clusters.example:6443, globs, with commas between; to
 *                             these past no proxy of the cluster's Secret, and none unchecked (default: any; also for the link)
 *   OUTPOST_CLOUD_ORIGINS     servers besides EKS's own to which the identity in AWS may be shown
 *   ARGOCD_SYNC_WAVE_DELAY    seconds between two waves of a sync (default 0)
 *   OUTPOST_WORKERS           applications looked at at once (default 96)
 *   OUTPOST_EVENTS            Kubernetes events written of applications: "all" (the default), "none", or reasons with commas between
 *   OUTPOST_SCM_PROVIDERS     the only addresses that application sets may ask for repositories and pull requests, with commas between
 *   OUTPOST_SHARDS            controllers that share the applications (default 1); OUTPOST_SHARD is this one's number from 0 (default: the
 *                             number at the end of POD_NAME), OUTPOST_SHARD_BY the unit of a shard: application (default) or cluster
 *   OUTPOST_ARGOCD_REDIS_SERVER  the Redis that argocd-server reads, host:port, or "off" (default: what redis.server of argocd-cmd-params-cm says;
 *                             none there: nothing is written). Likewise OUTPOST_ARGOCD_REDIS_DB and OUTPOST_ARGOCD_REDIS_COMPRESSION
 *   OUTPOST_ARGOCD_REDIS_USERNAME, OUTPOST_ARGOCD_REDIS_PASSWORD  (default: no name, and key auth of Secret argocd-redis)
 *   OUTPOST_ARGOCD_REDIS_TLS  "true", or "insecure" to accept any certificate (default false); with OUTPOST_ARGOCD_REDIS_CA_FILE,
 *                             OUTPOST_ARGOCD_REDIS_CERT_FILE and OUTPOST_ARGOCD_REDIS_KEY_FILE
 *   ARGOCD_APPLICATION_TREE_SHARD_SIZE  items in one entry of a tree, up to 1000 (default 0: all in one)
 *   OUTPOST_METRICS_APPLICATIONSET_LABELS  labels of application sets that metrics show, with commas between
 *   OUTPOST_LEADER_ELECTION   "false": no lease (default: a lease in a Pod)
 *   OUTPOST_HEALTH_LISTEN     probes and metrics (default 0.0.0.0:8082 in a Pod, else none)
 */
export async function runController(env: NodeJS.ProcessEnv, signal: AbortSignal): Promise<void> {
  const log = pino({ level: env.OUTPOST_LOG_LEVEL || "info", name: "controller" });
  const inPod = Boolean(env.POD_NAME);
  const config = loadConfig(env);
  let engine: Engine | undefined;
  const listen = env.OUTPOST_HEALTH_LISTEN || (inPod ? "0.0.0.0:8082" : undefined);
  // A replica that waits for the lease is ready, as it can take over at once. One that waits for Argo CD to end is ready too.
  const waiting = { yes: false };
  const probes = listen
    ? await startProbes({
        listen,
        ready: () => waiting.yes || engine?.ready() === true,
        metrics: async () => (await engine?.metrics()) ?? "",
      })
    : undefined;

  const namespace = env.POD_NAMESPACE || env.OUTPOST_NAMESPACE || "outpost-agent";
  const lead = async (leading: AbortSignal) => {
    waiting.yes = false;
    const client = new KubeClient(config);
    const held = (why: string | undefined) => {
      waiting.yes = why !== undefined;
      return noteHeld(client, { namespace, lease: leaseOf(env), log }, why);
    };
    await whileAlone({ client, namespace, log, signal: leading, held }, async (turn) => {
      engine = await startEngine({ env, log, signal: turn, config });
      log.info({ namespace: engine.controller.deps.namespace }, "controller is ready");
      await new Promise<void>((resolve) => onAbort(turn, resolve));
      await engine.stop();
      engine = undefined;
    });
    await client.close();
  };
  try {
    if (env.OUTPOST_LEADER_ELECTION === "false" || (!inPod && env.OUTPOST_LEADER_ELECTION !== "true"))
      await lead(signal);
    else {
      const client = new KubeClient(config);
      waiting.yes = true;
      await withLease(
        { client, namespace, name: leaseOf(env), holder: env.POD_NAME || `${hostname()}-${process.pid}`, signal },
        lead,
      );
      await client.close();
      if (!signal.aborted) throw new Error("the lease was lost to another replica");
    }
  } finally {
    await probes?.stop();
  }
}

/** One lease for each shard, so that each may have replicas of its own. */
function leaseOf(env: NodeJS.ProcessEnv): string {
  const { index, count } = Shard.of(env);
  return count > 1 ? `outpost-controller-${index}` : "outpost-controller";
}
