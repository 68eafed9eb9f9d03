import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Background } from "./background.ts";

/** A cluster of the user's own. */
export interface OwnCluster {
  kubeconfig: string;
  context?: string;
  address: string;
  image: string;
}

/** What the quickstart has made so far; written before each thing is made, so that `--down` finds it after any end. */
export interface State {
  port: number;
  own?: OwnCluster;
  nodeDir?: string;
  gitPort?: number;
  git?: Background;
  service?: Background;
  /** The command line's context for this service, and whether it is the current one. */
  context?: string;
  isCurrent?: boolean;
  applied?: boolean;
  /** Digests of what was generated and built, to know what can be reused. */
  generated?: string;
  built?: string;
  provider?: string;
}

/** Below the checkout; the tests have one of their own. As deep as an example, so that its relative paths stay right. */
export const stateFolder = (env = process.env): string => env.OUTPOST_QUICKSTART || ".quickstart";

export class Memory {
  readonly dir: string;
  readonly state: State;
  constructor(root: string, port: number) {
    this.dir = join(root, stateFolder());
    mkdirSync(this.dir, { recursive: true, mode: 0o700 });
    const file = join(this.dir, "state.json");
    this.state = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : { port };
  }
  path(...parts: string[]): string {
    return join(this.dir, ...parts);
  }
  remember(more: Partial<State>): void {
    Object.assign(this.state, more);
    const file = this.path("state.json");
    writeFileSync(`${file}.new`, `${JSON.stringify(this.state, null, 2)}\n`, { mode: 0o600 });
    renameSync(`${file}.new`, file);
  }
}
