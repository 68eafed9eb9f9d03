import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SILENT } from "../../link/log.ts";
import type { WriteLine } from "../process/bounded.ts";
import { findTree } from "../process/tree.ts";
import { openSandbox } from "../sandbox/sandbox.ts";
import { endWorkspace, Workspaces } from "../workspace.ts";

/**
 * Runs a hostile script as a task of a delegate that is this process, and prints what came of it: for tests that need a delegate of another
 * user. Arguments: work folder, way or `auto`, script. With HOSTILE_USERS=true it runs as a builder of images does, with HOSTILE_CANCEL it
 * is cancelled at its first line. HOSTILE_BESIDE is another task's script: it says one line, and is there until this one ends. What still lives with $TOKEN in its arguments has escaped.
 */
const [workDir, only, script] = process.argv.slice(2) as [string, string, string];
mkdirSync(workDir, { recursive: true, mode: 0o700 });
const workspaces = new Workspaces(workDir);
await workspaces.start();
writeFileSync(join(workDir, "identity.json"), "the identity", { mode: 0o600 });
const warned: string[] = [];
const sandbox = await openSandbox({
  mode: process.env.HOSTILE_MODE === "required" ? "required" : "auto",
  env: process.env,
  workDir,
  processes: Number(process.env.HOSTILE_PROCESSES ?? 64),
  caBundle: () => undefined,
  log: { ...SILENT, warn: (_, message) => void warned.push(message) },
  ...(only === "auto" ? {} : { only }),
});
const other = workspaces.open({ task: "other", fence: 1 });
await sandbox.enter(other);
await sandbox.run(
  other,
  {
    file: "/bin/sh",
    args: ["-c", "umask 077; echo 'another task' > kept; sleep 0"],
    cwd: other.work,
    env: { PATH: "/usr/bin:/bin" },
  },
  { memoryBytes: 0, write: () => undefined, signal: AbortSignal.timeout(20_000) },
);
const mine = workspaces.open({ task: "mine", fence: 1 });
await sandbox.enter(mine);
// As kinds do: the delegate writes, the task reads.
writeFileSync(join(mine.dir, "script"), script, { mode: 0o700 });
const lines: string[] = [];
const cancel = new AbortController();
const late = setTimeout(() => cancel.abort(), 60_000);
const write: WriteLine = (_, text) => {
  lines.push(text);
  if (process.env.HOSTILE_CANCEL) cancel.abort();
  return undefined;
};
const [name, value] = mine.mark.split("=") as [string, string];
const env = {
  PATH: process.env.PATH!,
  [name]: value,
  HOME: mine.home,
  TMPDIR: mine.tmp,
  IDENTITY: join(workDir, "identity.json"),
  OTHER: join(other.work, "kept"),
  DELEGATE: String(process.pid),
  TOKEN: process.env.HOSTILE_TOKEN ?? "",
  // What runs these before the task's user would be the task's.
  LD_PRELOAD: "",
  ENV: join(mine.work, "evil"),
};
// A task can have several commands: what the first one leaves must not help the second.
if (process.env.HOSTILE_FIRST)
  await sandbox.run(
    mine,
    { file: "/bin/sh", args: ["-c", process.env.HOSTILE_FIRST], cwd: mine.work, env },
    { memoryBytes: 0, write, signal: cancel.signal },
  );
// Another task at the same time, which runs until this one has ended.
const besides = new AbortController();
let beside: Promise<unknown> | undefined;
if (process.env.HOSTILE_BESIDE !== undefined)
  await new Promise<void>((begun) => {
    beside = sandbox
      .run(
        other,
        {
          file: "/bin/sh",
          args: ["-c", process.env.HOSTILE_BESIDE!],
          cwd: other.work,
          env: { PATH: env.PATH, TOKEN: env.TOKEN },
        },
        { memoryBytes: 0, write: () => void begun(), signal: besides.signal },
      )
      .finally(begun);
  });
const ran = await sandbox.run(
  mine,
  {
    file: "/bin/sh",
    args: [join(mine.dir, "script")],
    cwd: mine.work,
    env,
    users: process.env.HOSTILE_USERS === "true",
  },
  { memoryBytes: 0, write, signal: cancel.signal },
);
clearTimeout(late);
// Before anything else looks for what is left: a command that has ended has no processes.
const escaped = living(process.env.HOSTILE_TOKEN);
besides.abort();
await beside;
await endWorkspace(mine);
const left = findTree({ variable: mine.mark, uid: mine.uid }).length;
for (const workspace of [mine, other]) await sandbox.leave(workspace);
const { level, findings } = sandbox;
const kept = readFileSync(join(workDir, "identity.json"), "utf8") === "the identity";
process.stdout.write(
  `${JSON.stringify({ level, findings, code: ran.kind === "done" ? ran.value : ran.message, lines, left, escaped, kept, warned })}\n`,
);
rmSync(workDir, { recursive: true, force: true });

function living(token: string | undefined): string[] {
  if (!token) return [];
  return readdirSync("/proc").flatMap((pid) => {
    if (!/^\d+$/.test(pid)) return [];
    try {
      // Its own text stands in the script that this program was given, so a word begins with it only where it was an argument.
      const words = readFileSync(`/proc/${pid}/cmdline`, "latin1").split("\0");
      return words.some((word) => word.startsWith(token)) ? [words.find((word) => word.startsWith(token))!] : [];
    } catch {
      return [];
    }
  });
}
