import { chmodSync, existsSync, mkdirSync, realpathSync, statSync } from "node:fs";
import { delimiter, dirname, isAbsolute, join, sep } from "node:path";
import type { Outcome } from "../../base/outcome.ts";
import type { Log } from "../../link/log.ts";
import { type BoundedOptions, type Command, runBounded } from "../bounded.ts";
import type { SandboxMode } from "../settings.ts";
import { threadsOf } from "../tree.ts";
import type { Workspace } from "../workspace.ts";
import { handed } from "./handed.ts";
import { rulesWithout } from "./landlock.ts";
import { blockMetadata } from "./metadata.ts";
import { handOver, rangeOf, Uids } from "./owners.ts";
import { type Finding, probe } from "./probe.ts";
import { type Place, WAYS, type Way } from "./ways.ts";

/** What keeps the tasks of this delegate apart from it and from each other. */
export interface Sandbox {
  /** Name of the way, `none` without one. */
  level: string;
  /** Each promise, whether it is kept here, and why not. */
  findings: Finding[];
  /** Before the first command of an attempt. */
  enter(workspace: Workspace): Promise<void>;
  /** After its last process has ended. */
  leave(workspace: Workspace): void;
  run(workspace: Workspace, command: Command, options: RunOptions): Promise<Outcome<number>>;
}

type RunOptions = Omit<BoundedOptions, "mark" | "uid">;

export interface SandboxOptions {
  mode: SandboxMode;
  env: NodeJS.ProcessEnv;
  workDir: string;
  processes: number;
  caBundle(): string | undefined;
  log: Log;
  /** Looks only: the machine's routing is left as it is. */
  look?: boolean;
  /** One way alone, by its name; for tests. */
  only?: string;
}

/** Tries the ways from the strongest on, each with an attack on itself, and takes the first that holds. */
export async function openSandbox(options: SandboxOptions): Promise<Sandbox> {
  const { mode, log } = options;
  const refused: string[] = [];
  const root = process.getuid?.() === 0;
  if (mode !== "off" && process.platform === "linux") {
    for (const way of WAYS.filter((each) => each.root === root && (options.only ?? each.name) === each.name)) {
      const sandbox = new Jail(way, options);
      const { holds, findings, why } = await probe(sandbox, options.workDir);
      if (!holds) {
        refused.push(`${way.name}: ${why}`);
        continue;
      }
      sandbox.findings = [...findings, await blockMetadata(way.uids, options.env, options.look)];
      for (const { name, on, why } of sandbox.findings)
        if (!on) log.warn({ sandbox: way.name, protection: name }, `tasks are not kept from this: ${why}`);
      log.info({ sandbox: way.name }, `tasks run in a sandbox: ${way.name}`);
      return sandbox;
    }
  }
  const why =
    mode === "off" ? "OUTPOST_SANDBOX is off" : process.platform === "linux" ? refused.join("; ") : "there is none for this system";
  log.warn({ sandbox: "none" }, `tasks run as the delegate's user and can read what it can, its identity too: ${why}`);
  return new NoSandbox(why);
}

/** Tasks as they were started, bounded and nothing more. */
export class NoSandbox implements Sandbox {
  readonly level = "none";
  readonly findings: Finding[];
  constructor(why = "there is no sandbox") {
    this.findings = ["identity", "tasks", "environment", "signals", "processes", "metadata"].map((name) => ({ name, on: false, why }));
  }
  async enter(): Promise<void> {}
  leave(): void {}
  run(workspace: Workspace, command: Command, options: RunOptions): Promise<Outcome<number>> {
    return runBounded(command, { ...options, mark: workspace.mark });
  }
}

class Jail implements Sandbox {
  readonly level: string;
  findings: Finding[] = [];
  readonly #way: Way;
  readonly #options: SandboxOptions;
  readonly #uids = new Uids();
  readonly #active = new Map<string, number>();
  readonly #fixed: Pick<Place, "workDir" | "cover" | "stage" | "hidden" | "readable" | "ownTmp">;
  #handing: Promise<void> = Promise.resolve();

  constructor(way: Way, options: SandboxOptions) {
    this.#way = way;
    this.level = way.name;
    this.#options = options;
    const { workDir, env } = options;
    const stage = join(workDir, "stage");
    for (const path of [stage, join(workDir, "tasks")]) mkdirSync(path, { recursive: true, mode: 0o700 });
    // A user of its own must be able to walk to its folder; it cannot list what lies beside.
    if (way.uids) for (const dir of [workDir, join(workDir, "tasks")]) chmodSync(dir, 0o711);
    const home = way.uids ? undefined : homeOf(env);
    const cover = coverOf(workDir, way, home);
    const hidden = hiddenOf(env, cover, home);
    const closed = [workDir, ...hidden].map((path) => realpathSync(path));
    const readable = way.name.includes("landlock") ? rulesWithout(closed) : [];
    const ownTmp = ["/tmp", "/var/tmp"].every((tmp) => !`${workDir}/`.startsWith(`${tmp}/`));
    this.#fixed = { workDir, cover, stage, hidden, readable, ownTmp };
  }

  async enter(workspace: Workspace): Promise<void> {
    if (!this.#way.uids) return;
    workspace.uid = this.#uids.take();
  }

  leave({ uid }: Workspace): void {
    if (uid !== undefined) this.#uids.give(uid);
  }

  async run(workspace: Workspace, command: Command, options: RunOptions): Promise<Outcome<number>> {
    const { dir, uid } = workspace;
    const active = this.#active.get(dir) ?? 0;
    this.#active.set(dir, active + 1);
    try {
      if (uid !== undefined) {
        // Those that start together wait for the one that hands over, and none hands over while another runs.
        if (active === 0) this.#handing = handOver(dir, uid);
        await this.#handing;
      }
      const { env, prefix } = handed(command.env);
      const [file, ...args] = this.#way.argv(this.#place(workspace, command), [...prefix, command.file, ...command.args]) as [
        string,
        ...string[],
      ];
      const at = workspace.mark.indexOf("=");
      env[workspace.mark.slice(0, at)] = workspace.mark.slice(at + 1);
      return await runBounded({ file, args, cwd: command.cwd, env }, { ...options, mark: workspace.mark, uid });
    } finally {
      const left = this.#active.get(dir)! - 1;
      if (left) this.#active.set(dir, left);
      else this.#active.delete(dir);
    }
  }

  #place(workspace: Workspace, { cwd, users }: Command): Place {
    const { cover, readable } = this.#fixed;
    const below = (path: string) => path.startsWith(`${cover}${sep}`) && existsSync(path);
    const bundle = this.#options.caBundle();
    const tools = (this.#options.env.PATH ?? "").split(delimiter);
    const shown = [...new Set([...(bundle ? [bundle] : []), ...tools])]
      .filter(below)
      .filter((path) => !path.startsWith(`${workspace.dir}${sep}`));
    const processes = this.#options.processes;
    return {
      ...this.#fixed,
      shown,
      readable: [...readable, ...shown.map((path) => `rx:${path}`)],
      dir: workspace.dir,
      cwd,
      uid: workspace.uid ?? process.getuid!(),
      gid: workspace.uid ?? process.getgid!(),
      users: users && workspace.uid !== undefined && this.#way.mounts ? rangeOf(workspace.uid) : undefined,
      // The kernel counts for a user: where the attempts and the delegate are one, what runs already comes on top.
      processes: processes && (this.#way.uids || this.#way.mounts ? processes : processes + threadsOf(process.getuid!())),
    };
  }
}

/** What hides the work folder: the first folder on the way that a user of its own could not enter, or the home of the one that all share. */
function coverOf(workDir: string, way: Way, home: string | undefined): string {
  if (home && `${workDir}/`.startsWith(`${home}/`)) return home;
  const closed = way.uids && way.mounts ? ancestors(workDir).find((dir) => (statSync(dir).mode & 1) === 0) : undefined;
  return closed ?? workDir;
}

/** The home of the delegate's user, with keys and settings that are not for tasks; not one that holds the programs tasks need. */
function homeOf(env: NodeJS.ProcessEnv): string | undefined {
  const home = env.HOME && isAbsolute(env.HOME) && existsSync(env.HOME) ? realpathSync(env.HOME) : "/";
  return ancestors(home).length >= 2 ? home : undefined;
}

const ancestors = (path: string): string[] => (dirname(path) === path ? [] : [...ancestors(dirname(path)), path]);

/** The token and the delegate's own secrets, where they are files. */
function hiddenOf(env: NodeJS.ProcessEnv, cover: string, home: string | undefined): string[] {
  const token = env.OUTPOST_TOKEN_FILE;
  const tools = (env.PATH ?? "").split(delimiter);
  const paths = [
    ...(home && !tools.some((dir) => `${dir}/`.startsWith(`${home}/`)) ? [home] : []),
    // A mounted Secret is replaced by another folder with the same link to it: the folder around it is closed.
    ...(token ? [linked(token) ? dirname(token) : token] : []),
    env.OUTPOST_SECRETS_DIR || "/etc/outpost/secrets",
    ...(env.OUTPOST_CONFIG_FILE ? [env.OUTPOST_CONFIG_FILE] : ["/etc/outpost/delegate.yaml"]),
  ];
  return paths.filter((path) => existsSync(path) && !`${path}/`.startsWith(`${cover}/`));
}

const linked = (path: string) =>
  existsSync(path) && realpathSync(path) !== join(realpathSync(dirname(path)), path.slice(path.lastIndexOf("/") + 1));
