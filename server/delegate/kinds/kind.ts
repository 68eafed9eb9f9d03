import type { Validate } from "../../../openapi/contract/validators.js";
import type { Outcome } from "../../base/outcome.ts";
import type { WriteLine } from "../bounded.ts";
import type { Workspace } from "../workspace.ts";

/** What a kind may use while it runs. */
export interface Context {
  workspace: Workspace;
  /** Environment of the task's processes. */
  env: Record<string, string>;
  /** Variables that parameters must not replace. */
  own: Record<string, string>;
  /** Adds a line to the task's log. */
  write: WriteLine;
  /** Runs a program in the workspace, within the task's bounds, its output in the log; gives the exit code. */
  run(file: string, args: readonly string[], options?: { cwd?: string; env?: Record<string, string> }): Promise<Outcome<number>>;
  /** As `run`, for programs that answer with little: their standard output comes back instead. */
  ask(file: string, args: readonly string[], options?: { cwd?: string; env?: Record<string, string> }): Promise<Outcome<string>>;
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
export interface Kind<P = any> {
  validate: Validate<P>;
  /** What this installation lacks to run it; undefined when nothing. */
  lacks(env: NodeJS.ProcessEnv): Promise<string | undefined>;
  /** Its own failures are results; it need not care for deadlines, cancellation or bounds. */
  run(params: P, context: Context): Promise<KindResult>;
}

export const failed = (reason: string, message: string, outputs?: Record<string, unknown>): KindResult => ({
  outcome: "failed",
  reason,
  message,
  ...(outputs ? { outputs } : {}),
});
