import { createWriteStream, mkdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import type { Schemas } from "../../../openapi/client.ts";
import { Redactor } from "../../base/crypto/redact.ts";
import { done, stop } from "../../base/outcome.ts";
import type { KindResult, TaskContext, TaskKindHandler } from "../kind.ts";
import { runBounded, type WriteLine } from "../process/bounded.ts";
import { takeKept } from "../task/artifact-client.ts";
import { collect } from "../task/collect.ts";
import { makeFetch } from "../task/fetch.ts";
import { takeSource } from "../task/source.ts";
import { taskEnv } from "../task/task-env.ts";
import { putTaskFile } from "../task/task-files.ts";
import { Workspaces } from "../workspace.ts";

export interface KindRun extends KindResult {
  log: string[];
  /** The task's folder, as it was left. */
  dir: string;
}

export interface RunKind {
  timeoutSeconds?: number;
  env?: Record<string, string>;
  id?: string;
  /** Takes the lines while it runs. */
  log?: string[];
}

export interface KindBench {
  /** Runs a kind as a task would, without a service: artefacts stay in a folder. */
  run<P>(kind: TaskKindHandler<P>, params: P, options?: RunKind): Promise<KindRun>;
  /** Where an artefact of a run is. */
  artifact(ref: Schemas["ArtifactRef"]): string;
}

/** A place to run kinds in, with real processes and files. */
export function kindBench(dir: string, env: NodeJS.ProcessEnv = { PATH: process.env.PATH }): KindBench {
  const workspaces = new Workspaces(join(dir, "work"));
  const kept = join(dir, "kept");
  let count = 0;
  let started: Promise<unknown> | undefined;
  const artifact = ({ task, name }: Schemas["ArtifactRef"]) => join(kept, task, name);
  return {
    artifact,
    run: async (
      kind,
      params,
      { timeoutSeconds = 240, env: more = {}, id = `t-${String(++count).padStart(20, "0")}`, log = [] } = {},
    ) => {
      started ??= workspaces.start();
      await started;
      if (!kind.validate(params))
        throw new Error(`the parameters are not of the contract: ${JSON.stringify(kind.validate.errors)}`);
      const workspace = workspaces.open({ task: id, fence: 1 });
      const redactor = new Redactor();
      const write: WriteLine = (_, text) => void log.push(redactor.text(text));
      const ending = new AbortController();
      const timer = setTimeout(() => ending.abort(), timeoutSeconds * 1_000);
      const bounds = { mark: workspace.mark, memoryBytes: 0, signal: ending.signal };
      const task = { task: id, fence: 1, attempt: 1 };
      const http = makeFetch({ env, caBundle: () => undefined, signal: ending.signal });
      const context: TaskContext = {
        workspace,
        own: {},
        env: { ...taskEnv({ env, more: [], task, workspace }), ...more },
        write,
        mask: (value) => redactor.add(value),
        masked: (text) => redactor.text(text),
        run: (file, args, { cwd = workspace.work, env = context.env, seen, write: to = write } = {}) => {
          const both: WriteLine = (stream, text) => {
            seen?.(stream, text);
            return to(stream, text);
          };
          return runBounded({ file, args, cwd, env }, { ...bounds, write: both });
        },
        ask: (file, args, { cwd = workspace.work, env = context.env } = {}) =>
          collect((into) => runBounded({ file, args, cwd, env }, { ...bounds, write: into }), write),
        task: { id, scope: { account: "default" }, timeoutSeconds },
        signal: ending.signal,
        source: (source, name = "source") => takeSource(source, name, context),
        download: async (ref, to) => {
          const there = await readFile(artifact(ref)).catch(() => undefined);
          if (!there) return stop("not_found", `there is no artefact ${ref.name} of ${ref.task}`);
          await putTaskFile(workspace.dir, to, there);
          return done(undefined);
        },
        keep: async (name, what) => {
          const taken = await takeKept(what, workspace.dir, ending.signal);
          if (taken.kind !== "done") return taken;
          mkdirSync(join(kept, id), { recursive: true });
          await pipeline(taken.value.stream(), createWriteStream(artifact({ task: id, name })));
          const about = {
            name,
            size: taken.value.size,
            sha256: await taken.value.digest("sha256"),
            createdAt: new Date().toISOString(),
          };
          await taken.value.close();
          return done(about);
        },
        api: async () => stop("NoService", "there is no service here"),
        delegate: { env, caBundle: () => undefined },
        fetch: http.fetch,
        progress: async (text) => void (await write("system", text)),
      };
      try {
        return { ...(await kind.run(params, context)), log, dir: workspace.dir };
      } finally {
        clearTimeout(timer);
        await http.close();
        workspaces.close(workspace);
      }
    },
  };
}
