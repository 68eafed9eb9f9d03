import { rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { collectDefaultMetrics, Registry } from "prom-client";
import { startProbes } from "../../base/process/probes.ts";
import { MemoryCache } from "../cache/memory.ts";
import { RedisCache } from "../cache/redis.ts";
import { repoSecret } from "./secret.ts";
import { repoServer } from "./server.ts";
import { RepoService } from "./service.ts";

/**
 * `outpost repo-server`: fetches and renders for callers with the shared secret. It has no credential of a cluster.
 *
 *   OUTPOST_REPO_LISTEN       host:port, or unix:/path (default unix:/tmp/outpost-repo.sock)
 *   OUTPOST_REPO_TOKEN_FILE   the shared secret (required)
 *   REDIS_URL                 where renderings are kept for all replicas; without it, in memory
 *   OUTPOST_WORK              folder of the mirrors (default /var/lib/outpost in a Pod, else a temporary one)
 *   OUTPOST_PARALLEL          Helm and Kustomize processes at once (default 4)
 *   OUTPOST_RENDER_MEMORY_MIB what one of them may take (default 200)
 *   OUTPOST_CHART_DEPENDENCIES  "registered": charts depend on registered repositories alone, and not on others that projects permit
 *   OUTPOST_PLUGINS           folder with the sockets of plugins' sidecars; without it, none
 *   OUTPOST_ASK_PASS_SOCKET   where sidecars made for Argo CD find the socket that lends Git credentials (default where it is here)
 *   OUTPOST_CLOUD_ORIGINS     origins, with commas between them, that count as a cloud's own: keys and identities may go there
 *   OUTPOST_PLUGIN_NAMES      those that must be there before anything is rendered that may be theirs, with commas between
 *   OUTPOST_HEALTH_LISTEN     probes and metrics (default 0.0.0.0:8084 in a Pod, else none)
 */
export async function runRepoServer(env: NodeJS.ProcessEnv, signal: AbortSignal): Promise<void> {
  const log = pino({ level: env.OUTPOST_LOG_LEVEL || "info", name: "repo-server" });
  const secret = repoSecret(env);
  const inPod = Boolean(env.POD_NAME);
  const cache = env.REDIS_URL ? new RedisCache(env.REDIS_URL, secret) : new MemoryCache();
  const folder =
    env.OUTPOST_WORK || (inPod ? "/var/lib/outpost/mirrors" : join(tmpdir(), `outpost-repo-${process.pid}`));
  const service = new RepoService({
    folder,
    cache,
    parallel: Number(env.OUTPOST_PARALLEL) || undefined,
    plugins: env.OUTPOST_PLUGINS || undefined,
    expectedPlugins: (env.OUTPOST_PLUGIN_NAMES ?? "").split(",").filter(Boolean),
  });
  await service.start();

  const server = repoServer(service, secret);
  const listen = env.OUTPOST_REPO_LISTEN || "unix:/tmp/outpost-repo.sock";
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    if (listen.startsWith("unix:")) {
      const path = listen.slice("unix:".length);
      // Left over from a process that was killed; a living one keeps its listener.
      rmSync(path, { force: true });
      server.listen(path, resolve);
    } else {
      const colon = listen.lastIndexOf(":");
      server.listen(Number(listen.slice(colon + 1)), listen.slice(0, colon), resolve);
    }
  });
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const health = env.OUTPOST_HEALTH_LISTEN || (inPod ? "0.0.0.0:8084" : undefined);
  const probes = health
    ? await startProbes({ listen: health, ready: () => server.listening, metrics: () => registry.metrics() })
    : undefined;
  log.info({ listen, cache: env.REDIS_URL ? "redis" : "memory" }, "repo server is ready");

  await new Promise<void>((resolve) =>
    signal.aborted ? resolve() : signal.addEventListener("abort", () => resolve(), { once: true }),
  );
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
    server.closeIdleConnections();
    // Callers whose render has not ended are told to ask another replica.
    setTimeout(() => server.closeAllConnections(), 10_000).unref();
  });
  service.close();
  await cache.close();
  await probes?.stop();
}
