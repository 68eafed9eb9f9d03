import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { KubeClient } from "../../kube/client.ts";
import { type KubeConfig, loadConfig } from "../../kube/config.ts";
import { SetController } from "../appset/controller.ts";
import { MemoryCache } from "../cache/memory.ts";
import { RepoClient } from "../repo/client.ts";
import { repoSecret } from "../repo/secret.ts";
import { RepoService } from "../repo/service.ts";
import type { RepoApi } from "../repo/types.ts";
import { lookIntegrity } from "./config/integrity.ts";
import type { Log } from "./deps.ts";
import { Controller } from "./loop/controller.ts";
import { lookAccess } from "./loop/look.ts";
import { Shard } from "./loop/shard.ts";
import { listed } from "./settings.ts";

export interface EngineOptions {
  env: NodeJS.ProcessEnv;
  log: Log;
  signal: AbortSignal;
  /** Access to the cluster that replaces the environment's. */
  config?: KubeConfig;
  /** A repo server that this process has already. */
  repo?: RepoApi;
}

export interface Engine {
  controller: Controller;
  sets: SetController;
  repo: RepoApi;
  ready(): boolean;
  metrics(): Promise<string>;
  stop(): Promise<void>;
}

/** The namespaces the controller may look at; empty for the whole cluster. */
export function managedNamespaces(env: NodeJS.ProcessEnv, own: string): string[] {
  const named = (env.OUTPOST_NAMESPACES ?? "")
    .split(",")
    .map((name) => name.trim())
    .filter(Boolean);
  return env.OUTPOST_NAMESPACED === "true" ? [...new Set([own, ...named])] : named;
}

/** A repo server in this process, with a cache in memory; `close` takes its folder away. */
export async function localRepo(env: NodeJS.ProcessEnv): Promise<{ door: RepoService; close(): Promise<void> }> {
  const folder = env.OUTPOST_WORK || (await mkdtemp(join(tmpdir(), "outpost-repo-")));
  const cache = new MemoryCache();
  const parallel = Number(env.OUTPOST_PARALLEL) || undefined;
  const door = new RepoService({ folder, cache, parallel, plugins: env.OUTPOST_PLUGINS || undefined });
  await door.start();
  const close = async () => {
    door.close();
    await cache.close();
    if (!env.OUTPOST_WORK) await rm(folder, { recursive: true, force: true });
  };
  return { door, close };
}

/**
 * The controller with everything it needs: the repo server of `OUTPOST_REPO_URL`, or one in this process. Used by `outpost controller`
 * and by `outpost agent --all`.
 */
export async function startEngine({
  env,
  log,
  signal,
  config = loadConfig(env),
  repo,
}: EngineOptions): Promise<Engine> {
  const home = new KubeClient(config);
  const namespace = env.POD_NAMESPACE || env.OUTPOST_NAMESPACE || "outpost-agent";
  const remote =
    repo === undefined && env.OUTPOST_REPO_URL ? new RepoClient(env.OUTPOST_REPO_URL, repoSecret(env)) : undefined;
  const local = repo === undefined && !remote ? await localRepo(env) : undefined;
  const door = repo ?? remote ?? local!.door;
  const workers = Number(env.OUTPOST_WORKERS) || undefined;
  // A repo server elsewhere must not see a cluster: charts that look things up are rendered here, if there are any.
  let beside: ReturnType<typeof localRepo> | undefined;
  const lookup = async () => {
    if (local) return local.door;
    beside ??= localRepo(env);
    return (await beside).door;
  };
  const managed = managedNamespaces(env, namespace);
  const given = (text: string | undefined) => (text === undefined ? undefined : listed(text));
  const applicationNamespaces = given(env.OUTPOST_APPLICATION_NAMESPACES);
  const setNamespaces = given(env.OUTPOST_APPLICATIONSET_NAMESPACES);
  const shard = Shard.of(env);
  const controller = new Controller({
    home,
    namespace,
    applicationNamespaces,
    setNamespaces,
    managed,
    repo: door,
    lookup,
    workers,
    shard,
    env,
    log,
    signal,
  });
  shard.pinned = (app) => controller.deps.destinations.shardOf(app);
  // Argo CD waits two seconds, so that it does not use the health from before the write. Here the response of a write is known at once, and a
  // controller that has not seen the change yet is known by the generation that it observed.
  controller.deps.waveDelayMs = 1_000 * (Number(env.ARGOCD_SYNC_WAVE_DELAY) || 0);
  await controller.start();
  const allowed = env.OUTPOST_SCM_PROVIDERS?.split(",").map((one) => one.trim());
  const { deps } = controller;
  const integrity = (url: string, project?: string) => lookIntegrity(deps, url, project);
  const access = (url: string, project?: string, tenant?: string) => lookAccess(deps, url, project, tenant);
  const sets = new SetController({
    home,
    namespace,
    namespaces: controller.setNamespaces,
    repo: door,
    access,
    integrity,
    allowedProviders: allowed?.filter(Boolean),
    metricLabels: (env.OUTPOST_METRICS_APPLICATIONSET_LABELS ?? "").split(",").filter(Boolean),
    applications: (on) => controller.follow(on),
    happened: (set, reason, message) => controller.events.tell(set, [{ type: "Normal", reason, message }]),
    log,
  });
  // Sets are few: the first controller has them all.
  if (shard.index === 0) {
    await sets.start();
    controller.onSetNamespaces = (now) => void sets.replaceNamespaces(now);
    await sets.replaceNamespaces(controller.setNamespaces);
  }
  controller.onHint = ({ url }) => sets.repositoryChanged(url);
  return {
    controller,
    sets,
    repo: door,
    ready: () => controller.ready,
    metrics: async () => (await controller.metrics.registry.metrics()) + (await sets.metrics.registry.metrics()),
    stop: async () => {
      await sets.stop();
      await controller.stop();
      await remote?.close();
      await local?.close();
      await (await beside)?.close();
      await home.close();
    },
  };
}
