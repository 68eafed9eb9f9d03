import { chmodSync, chownSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { run } from "../../base/process/run.ts";
import { KEEPER } from "../process/keeper.ts";
import { findSupervisor } from "../process/supervisor.ts";
import { WAYS } from "../sandbox/ways.ts";

export const ROOT = process.getuid?.() === 0;
/** The ways that can be tried here. */
export const WAYS_HERE = WAYS.filter((way) => ROOT || !way.root).map((way) => way.name);
const USER = 12_345;
let count = 0;

/** A folder that every user can enter, gone after the test file. */
export function publicFolder(): string {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), "sandbox-")));
  chmodSync(dir, 0o755);
  afterAll(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

export interface Hostile {
  level: string;
  findings: { name: string; on: boolean; why: string }[];
  code: number | string;
  lines: string[];
  left: number;
  /** Marked processes that lived when the command had ended. */
  escaped: string[];
  kept: boolean;
  warned: string[];
}

/** Runs a hostile script in one way, by a delegate of its own; as root where the way needs it, else as a user without a name. */
export async function hostile(
  dir: string,
  way: string,
  script: string,
  more: Record<string, string> = {},
): Promise<Hostile> {
  const asRoot = way.startsWith("uid") || way === "auto-root";
  const base = join(dir, `${process.pid}-${++count}`);
  mkdirSync(base, { mode: 0o755 });
  const home = join(base, "home");
  mkdirSync(home, { mode: 0o700 });
  writeFileSync(join(home, "key"), "the user's key");
  if (ROOT && !asRoot) for (const path of [base, home, join(home, "key")]) chownSync(path, USER, USER);
  const program = new URL("./hostile.ts", import.meta.url).pathname;
  const { file: perl, args: flags } = findSupervisor()!;
  const keeper = more.HOSTILE_KEPT ? [perl, flags[0]!, KEEPER, flags[2]!] : [];
  const only = way.startsWith("auto") ? "auto" : way;
  const node = [
    ...keeper,
    process.execPath,
    "--import",
    "tsx",
    program,
    more.HOSTILE_WORK_DIR ?? join(base, "work"),
    only,
    script,
  ];
  const drop = ["setpriv", `--reuid=${USER}`, `--regid=${USER}`, "--clear-groups", "--"];
  const [file, ...args] = ROOT && !asRoot ? [...drop, ...node] : node;
  const ran = await run(file!, {
    args,
    cwd: process.cwd(),
    env: {
      PATH: process.env.PATH!,
      HOME: home,
      DELEGATE_TOKEN: "ot1_the_token",
      OUTPOST_ALLOW_METADATA: "true",
      ...more,
    },
    deadlineMs: 110_000,
    maxBytes: 10_000_000,
  });
  if (ran.kind !== "done" || ran.value.code !== 0)
    throw new Error(ran.kind === "done" ? ran.value.stderr : ran.message);
  return JSON.parse(ran.value.stdout.toString().trim().split("\n").at(-1)!);
}
