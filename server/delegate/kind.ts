import type { Schemas } from "../../openapi/client.ts";
import type { Validate } from "../../openapi/contract/validators.js";
import type { Outcome } from "../base/outcome.ts";
import type { Stream, WriteLine } from "./process/bounded.ts";
import type { Kept } from "./task/artifact-client.ts";
import type { Fetch } from "./task/fetch.ts";
import type { ApiAsk, OperationId } from "./task/task-api.ts";
import type { Workspace } from "./workspace.ts";

/** What kinds share; made by `task/toolkit.ts`. A failure's reason and message are fit for the task's result. */
export interface Toolkit {
  task: { id: string; scope: Schemas["WorkerTask"]["scope"]; timeoutSeconds: number };
  /** Ends when the task must end; what `run` and `ask` have started ends by itself. */
  signal: AbortSignal;
  /** A folder with the files of a source; without one, the work folder. `name` is for kinds that take several. */
  source(source: Schemas["TaskSource"] | undefined, name?: string): Promise<Outcome<string>>;
  /** Puts an artefact of a task of this scope into a file. */
  download(ref: Schemas["ArtifactRef"], to: string): Promise<Outcome<void>>;
  /** Keeps a file, or a folder as .tar.gz, as an artefact of this task. It is read in a way that cannot leave the task's files. */
  keep(name: string, kept: Kept): Promise<Outcome<Schemas["TaskArtifact"]>>;
  /** Asks the service in the task's scope and with its own token; for operations marked `task` in the table of operations. */
  api<T>(operation: OperationId, ask?: ApiAsk): Promise<Outcome<T>>;
  /** What the delegate itself has: for credentials that parameters leave to it, never for what a task runs. */
  delegate: { env: NodeJS.ProcessEnv; caBundle(): string | undefined };
  /** A request through the delegate's proxy, bounded; any status is `done`. */
  fetch: Fetch;
  /** Writes to the task's log. */
  progress(text: string): Promise<void>;
}

export interface RunOptions {
  cwd?: string;
  /** All of the environment; default `env`. */
  env?: Record<string, string>;
  /** As root over many users of its own, where the sandbox can give these: for programs that build images. */
  users?: boolean;
  /** Sees each line as well, before it is masked: for messages, which are masked too. */
  seen?: (stream: Stream, text: string) => void;
  /** Takes each line instead of the log, for programs that speak to programs. */
  write?: WriteLine;
}

/** What a kind may use while it runs. */
export interface TaskContext extends Toolkit {
  workspace: Workspace;
  /** Environment of the task's processes. */
  env: Record<string, string>;
  /** Variables that parameters must not replace. */
  own: Record<string, string>;
  /** Adds a line to the task's log. */
  write: WriteLine;
  /** From now on the value is masked in the log and the result, as every secret that the parameters referred to is. */
  mask(value: string): void;
  /** A text with the secrets masked; for text files that are kept as artefacts. Log, message and outputs are masked anyway. */
  masked(text: string): string;
  /** Runs a program in the workspace, within the task's bounds, its output in the log; gives the exit code. */
  run(file: string, args: readonly string[], options?: RunOptions): Promise<Outcome<number>>;
  /** As `run`, for programs that answer with little: their standard output comes back instead. */
  ask(file: string, args: readonly string[], options?: RunOptions): Promise<Outcome<string>>;
}

export interface KindResult {
  outcome: "succeeded" | "failed";
  /** A constant for machines. */
  reason?: string;
  /** For people. */
  message?: string;
  outputs?: Record<string, unknown>;
}

/** One kind of task. */
// biome-ignore lint/suspicious/noExplicitAny: the table holds kinds of all parameters; each validates its own.
export interface TaskKindHandler<P = any> {
  validate: Validate<P>;
  /** Parameters, by JSON pointer, that take no reference to a secret, and what to do instead: programs, into which nothing is pasted. */
  plain?: Readonly<Record<string, string>>;
  /** What this installation lacks to run it; undefined when nothing. `cannotBuild` is the sandbox's. */
  lacks(env: NodeJS.ProcessEnv, cannotBuild?: string): Promise<string | undefined>;
  /** Its own failures are results; it need not care for deadlines, cancellation or bounds. */
  run(params: P, context: TaskContext): Promise<KindResult>;
}

export const failed = (reason: string, message: string, outputs?: Record<string, unknown>): KindResult => ({
  outcome: "failed",
  reason,
  message,
  ...(outputs ? { outputs } : {}),
});
