import { chmodSync, existsSync, mkdirSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { type Outcome, stop } from "../../base/outcome.ts";
import type { Log } from "../../link/log.ts";
import type { SandboxMode } from "../config/settings.ts";
import { type Command, runBounded } from "../process/bounded.ts";
import { threadsOf } from "../process/tree.ts";
import type { Workspace } from "../workspace.ts";
import { type Closed, closedOf, shownOf, toolsOf, within } from "./closed.ts";
import { handed } from "./handed.ts";
import { rulesWithout } from "./landlock.ts";
import { removeLeftovers, sharedPlaces } from "./leftovers.ts";
import { blockMetadata } from "./metadata.ts";
import { handOver, rangeOf, Uids } from "./owners.ts";
import { probe } from "./probe.ts";
import type { Finding, RunOptions, Sandbox } from "./protection.ts";
import { type Place, WAYS, type Way } from "./ways.ts";

/** What `enter.ts` makes a task's own in another way. */
const OWN = new Set(["/tmp", "/var/tmp", "/dev/mqueue"]);

export interface SandboxOptions {
  mode: SandboxMode;
  env: NodeJS.ProcessEnv;
  workDir: string;
  processes: number;
  caBundle(): string | undefined;
  log: Log;
  /** Files with credentials of the delegate that the environment does not name. */
  closed?: readonly string[];
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
  let leaky: Jail | undefined;
  if (mode !== "off" && process.platform === "linux") {
    for (const way of WAYS.filter((each) => each.root === root && (options.only ?? each.name) === each.name)) {
      const sandbox = new Jail(way, options);
      const { holds, leaks, findings, why } = await probe(sandbox, options.workDir, sandbox.samples);
      sandbox.findings = findings;
      if (holds) return taken(sandbox, way, options);
      refused.push(`${way.name}: ${why}`);
      if (leaks) leaky ??= sandbox;
    }
  }
  // Less than a sandbox, and still better than none: `required` refuses it.
  if (leaky && mode !== "required") return taken(leaky, leaky.way, options);
  const cannot = process.platform === "linux" ? refused.join("; ") : "there is none for this system";
  const why = mode === "off" ? "OUTPOST_SANDBOX is off" : cannot;
  log.warn({ sandbox: "none" }, `tasks run as the delegate's user and can read what it can, its identity too: ${why}`);
  return new NoSandbox(why);
}

async function taken(sandbox: Jail, way: Way, { env, look, log }: SandboxOptions): Promise<Sandbox> {
  sandbox.findings = [...sandbox.findings, await blockMetadata(way.uids, env, look)];
  for (const { name, on, why } of sandbox.findings)
    if (!on) log.warn({ sandbox: way.name, protection: name }, `tasks are not kept from this: ${why}`);
  log.info({ sandbox: way.name }, `tasks run in a sandbox: ${way.name}`);
  return sandbox;
}

/** Tasks as they were started, bounded and nothing more. */
export class NoSandbox implements Sandbox {
  readonly level = "none";
  readonly findings: Finding[];
  constructor(why = "there is no sandbox") {
    this.findings = [
      "identity",
      "credentials",
      "tasks",
      "environment",
      "signals",
      "shared",
      "processes",
      "metadata",
    ].map((name) => ({
      name,
      on: false,
      why,
    }));
  }
  async enter(): Promise<void> {}
  async leave(): Promise<void> {}
  run(workspace: Workspace, command: Command, options: RunOptions): Promise<Outcome<number>> {
    return runBounded(command, { ...options, mark: workspace.mark });
  }
}

class Jail implements Sandbox {
  readonly level: string;
  findings: Finding[] = [];
  /** Files that no task may read. */
  readonly samples: readonly string[];
  readonly #closed: Closed;
  readonly way: Way;
  readonly #options: SandboxOptions;
  readonly #uids = new Uids();
  readonly #active = new Map<string, number>();
  readonly #fixed: Pick<Place, "workDir" | "cover" | "stage" | "hidden" | "readable" | "shared" | "ownTmp">;
  #handing: Promise<void> = Promise.resolve();

  constructor(way: Way, options: SandboxOptions) {
    this.way = way;
    this.level = way.name;
    this.#options = options;
    const { workDir, env } = options;
    const stage = join(workDir, "stage");
    for (const path of [stage, join(workDir, "tasks")]) mkdirSync(path, { recursive: true, mode: 0o700 });
    // A user of its own must be able to walk to its folder; it cannot list what lies beside.
    if (way.uids) for (const dir of [workDir, join(workDir, "tasks")]) chmodSync(dir, 0o711);
    this.#closed = closedOf(env, workDir, way, options.closed);
    const { cover, hidden } = this.#closed;
    this.samples = this.#closed.samples;
    const closed = [workDir, ...hidden].filter((path) => existsSync(path)).map((path) => realpathSync(path));
    const readable = way.name.includes("landlock") ? rulesWithout(closed) : [];
    const ownTmp = ["/tmp", "/var/tmp"].every((tmp) => !`${workDir}/`.startsWith(`${tmp}/`));
    const shared = sharedPlaces().filter(
      (path) => !OWN.has(path) && !/\s/.test(path) && !`${workDir}/`.startsWith(`${path}/`),
    );
    this.#fixed = { workDir, cover, stage, hidden, readable, shared, ownTmp };
  }

  async enter(workspace: Workspace): Promise<void> {
    if (!this.way.uids) return;
    workspace.uid = this.#uids.take();
  }

  async leave({ uid }: Workspace): Promise<void> {
    if (uid === undefined) return;
    // Files that are left must not become those of the next attempt.
    if (!this.way.shares || (await removeLeftovers(uid, realpathSync(this.#fixed.workDir)))) this.#uids.give(uid);
    else this.#options.log.warn({ uid }, "files of a task are left in a shared folder; its user is not used again");
  }

  get cannotBuild(): string | undefined {
    return this.way.cannotBuild;
  }

  async run(workspace: Workspace, command: Command, options: RunOptions): Promise<Outcome<number>> {
    if (command.users && this.cannotBuild) return stop("SandboxCannotBuild", this.cannotBuild);
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
      const [file, ...args] = this.way.argv(this.#place(workspace, command), [
        ...prefix,
        command.file,
        ...command.args,
      ]) as [string, ...string[]];
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
    const { readable, workDir } = this.#fixed;
    const bundle = this.#options.caBundle();
    const wanted = [...(bundle ? [bundle] : []), ...toolsOf(this.#options.env)];
    const shown = shownOf(wanted, this.#closed, workDir, this.way.mounts).filter(
      (path) => !within(path, workspace.dir),
    );
    const processes = this.#options.processes;
    return {
      ...this.#fixed,
      shown,
      readable: [...readable, ...shown.map((path) => `rx:${path}`)],
      dir: workspace.dir,
      cwd,
      uid: workspace.uid ?? process.getuid!(),
      gid: workspace.uid ?? process.getgid!(),
      users: users && workspace.uid !== undefined && this.way.mounts ? rangeOf(workspace.uid) : undefined,
      builds: users === true,
      // The kernel counts for a user: where the attempts and the delegate are one, what runs already comes on top.
      processes: processes && (this.way.uids || this.way.mounts ? processes : processes + threadsOf(process.getuid!())),
    };
  }
}
