import type { Outcome } from "../../base/outcome.ts";
import type { BoundedOptions, Command } from "../process/bounded.ts";
import type { Workspace } from "../workspace.ts";

/** One promise of the sandbox. */
export interface Finding {
  name: string;
  on: boolean;
  why: string;
}

/** What keeps the tasks of this delegate apart from it and from each other. */
export interface Sandbox {
  /** Name of the way, `none` without one. */
  level: string;
  /** Each promise, whether it is kept here, and why not. */
  findings: Finding[];
  /** Why no command that builds images can work here; undefined where it can. */
  cannotBuild?: string | undefined;
  /** Before the first command of an attempt. */
  enter(workspace: Workspace): Promise<void>;
  /** After its last process has ended. */
  leave(workspace: Workspace): Promise<void>;
  run(workspace: Workspace, command: Command, options: RunOptions): Promise<Outcome<number>>;
}

export type RunOptions = Omit<BoundedOptions, "mark" | "uid">;
