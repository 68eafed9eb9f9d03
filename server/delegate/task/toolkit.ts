import type { WorkerTask } from "../../link/exchange.ts";
import type { Session } from "../../link/session.ts";
import type { Bounds } from "../config/settings.ts";
import type { TaskContext, Toolkit } from "../kind.ts";
import type { Workspace } from "../workspace.ts";
import { getArtifact, keepArtifact } from "./artifact-client.ts";
import { makeFetch } from "./fetch.ts";
import { takeSource } from "./source.ts";
import { askApi } from "./task-api.ts";

export interface ToolkitOptions {
  session: Session;
  task: WorkerTask;
  workspace: Workspace;
  bounds: Bounds;
  env: NodeJS.ProcessEnv;
  caBundle(): string | undefined;
  signal: AbortSignal;
  /** The whole context, once there is one. */
  context(): TaskContext;
}

/** What kinds share: sources, artefacts, the service's API and HTTP. To be closed when the kind has ended. */
export function makeToolkit(options: ToolkitOptions): Toolkit & { close(): Promise<void> } {
  const { session, task, signal, context } = options;
  const http = makeFetch(options);
  return {
    task: { id: task.task, scope: task.scope, timeoutSeconds: task.timeoutSeconds },
    signal,
    source: (source, name = "source") => takeSource(source, name, context()),
    download: (ref, to) => getArtifact(ref, to, options),
    keep: (name, kept) => keepArtifact(name, kept, options),
    api: (operation, ask = {}) => askApi(operation, ask, { transport: session.transport, task, signal }),
    delegate: { env: options.env, caBundle: options.caBundle },
    fetch: http.fetch,
    progress: async (text) => {
      await context().write("system", text);
    },
    close: http.close,
  };
}
