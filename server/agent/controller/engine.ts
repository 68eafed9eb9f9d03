import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MemoryCache } from "../cache/memory.ts";
import { KubeClient } from "../kube/client.ts";
import { type KubeConfig, loadConfig } from "../kube/config.ts";
import { RepoClient } from "../repo/client.ts";
import { repoSecret } from "../repo/secret.ts";
import { RepoService } from "../repo/service.ts";
import type { RepoDoor } from "../repo/types.ts";
import { Controller } from "./controller.ts";
import type { Log } from "./deps.ts";

export interface EngineOptions {
  env: NodeJS.ProcessEnv;
  log: Log;
  signal: AbortSignal;
  /** Another way to the cluster than the environment's. */
  config?: KubeConfig;
  /** A repo server that this process has already. */
  repo?: RepoDoor;
}

export interface Engine {
  controller: Controller;
  repo: RepoDoor;
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
  const door = new RepoService({ folder, cache, parallel: Number(env.OUTPOST_PARALLEL) || undefined });
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
export async function startEngine({ env, log, signal, config = loadConfig(env), repo }: EngineOptions): Promise<Engine> {
  const home = new KubeClient(config);
  const namespace = env.POD_NAMESPACE || env.OUTPOST_NAMESPACE || "outpost-agent";
  const remote = repo === undefined && env.OUTPOST_REPO_URL ? new RepoClient(env.OUTPOST_REPO_URL, repoSecret(env)) : undefined;
  const local = repo === undefined && !remote ? await localRepo(env) : undefined;
  const door = repo ?? remote ?? local!.door;
  const workers = Number(env.OUTPOST_WORKERS) || undefined;
  const controller = new Controller({ home, namespace, managed: managedNamespaces(env, namespace), repo: door, workers, log, signal });
  await controller.start();
  return {
    controller,
    repo: door,
    ready: () => controller.ready,
    metrics: () => controller.metrics.registry.metrics(),
    stop: async () => {
      await controller.stop();
      await remote?.close();
      await local?.close();
      await home.close();
    },
  };
}
