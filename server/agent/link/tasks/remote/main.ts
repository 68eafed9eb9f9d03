import { pino } from "pino";
import { startProbes } from "../../../../base/process/probes.ts";
import { Secret } from "../../../../base/secret.ts";
import { KubeClient } from "../../../../kube/client.ts";
import { loadConfig } from "../../../../kube/config.ts";
import { localRepo } from "../../../controller/engine.ts";
import { RepoClient } from "../../../repo/client.ts";
import { repoSecret, sharedSecret } from "../../../repo/secret.ts";
import type { RepoApi } from "../../../repo/types.ts";
import { patternsOf } from "../../patterns.ts";
import { isBeside, noRepo } from "../../queries/beside.ts";
import { providersOf } from "../../queries/generate.ts";
import { localReads, READS_BESIDE } from "../../queries/reads.ts";
import { readsServer } from "./server.ts";

/** The secret that the link and the controller share. The repo server must not have it: it runs what charts and plugins bring. */
export const readsSecret = (env: NodeJS.ProcessEnv): Secret =>
  sharedSecret(env, "OUTPOST_READS_TOKEN_FILE", "the link and the controller");

/**
 * Beside `outpost controller`: answers the link's questions about the cluster until the signal. Each replica answers, also one that waits
 * for the lease.
 *
 *   OUTPOST_READS_LISTEN      host:port; without it nothing is answered
 *   OUTPOST_READS_TOKEN_FILE  the secret shared with the link (required with it)
 */
export async function runReads(env: NodeJS.ProcessEnv, signal: AbortSignal): Promise<void> {
  const listen = env.OUTPOST_READS_LISTEN;
  if (!listen) return;
  const log = pino({ level: env.OUTPOST_LOG_LEVEL || "info", name: "reads" });
  const secret = readsSecret(env);
  const client = new KubeClient(loadConfig(env));
  const beside = isBeside(env);
  const remote = env.OUTPOST_REPO_URL && !beside ? new RepoClient(env.OUTPOST_REPO_URL, repoSecret(env)) : undefined;
  // Charts that look things up are rendered here, if there are any: a repo server elsewhere must not see a cluster.
  const local = lazily(() => localRepo(env.OUTPOST_WORK ? { ...env, OUTPOST_WORK: `${env.OUTPOST_WORK}/reads` } : env));
  const repo: RepoApi = beside ? noRepo() : (remote ?? (await local.get()).door);
  const namespace = env.POD_NAMESPACE || env.OUTPOST_NAMESPACE || "outpost-agent";
  const parts = {
    ctx: { client, namespace, patterns: patternsOf(env), sealSeed: new Secret(""), log },
    repo,
    lookup: beside ? undefined : async () => (await local.get()).door,
    providers: providersOf(env),
  };
  const server = readsServer(localReads(parts, beside ? READS_BESIDE : undefined), secret, log);
  const colon = listen.lastIndexOf(":");
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(Number(listen.slice(colon + 1)), listen.slice(0, colon), resolve);
  });
  log.info({ listen }, "the link's questions are answered here");
  await new Promise<void>((resolve) =>
    signal.aborted ? resolve() : signal.addEventListener("abort", () => resolve(), { once: true }),
  );
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
  await remote?.close();
  await local.made()?.then(({ close }) => close());
  await client.close();
}

/**
 * `outpost reader`: beside Argo CD, answers the link's questions about the cluster with rights to read and nothing else.
 *
 *   OUTPOST_READS_LISTEN, OUTPOST_READS_TOKEN_FILE  as above, both required
 *   OUTPOST_HEALTH_LISTEN     probes (default 0.0.0.0:8082 in a Pod, else none)
 */
export async function runReader(given: NodeJS.ProcessEnv, signal: AbortSignal): Promise<void> {
  const env: NodeJS.ProcessEnv = { ...given, OUTPOST_ENGINE: "none" };
  if (!env.OUTPOST_READS_LISTEN)
    throw new Error("OUTPOST_READS_LISTEN is required: the address on which the link's questions are answered");
  const listen = env.OUTPOST_HEALTH_LISTEN || (env.POD_NAME ? "0.0.0.0:8082" : undefined);
  const probes = listen ? await startProbes({ listen, ready: () => true, metrics: async () => "" }) : undefined;
  try {
    await runReads(env, signal);
  } finally {
    await probes?.stop();
  }
}

/** Made when it is asked for first; after a failure it is tried again. */
export function lazily<T>(make: () => Promise<T>): { get(): Promise<T>; made(): Promise<T> | undefined } {
  let made: Promise<T> | undefined;
  return {
    get: () => {
      made ??= make().catch((error: unknown) => {
        made = undefined;
        throw error;
      });
      return made;
    },
    made: () => made,
  };
}
