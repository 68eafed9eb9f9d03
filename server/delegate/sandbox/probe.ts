import { chownSync, mkdirSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Workspace } from "../workspace.ts";
import type { Sandbox } from "./sandbox.ts";

/** One promise of the sandbox. */
export interface Finding {
  name: string;
  on: boolean;
  why: string;
}

// It takes a tenth of a second. On a machine whose processors are all taken it must not end in a weaker sandbox, or in none.
const DEADLINE_MS = 60_000;
// Without these three a sandbox is none.
const CORE = ["identity", "tasks", "environment"];
const WHY: Record<string, [kept: string, open: string]> = {
  identity: ["the identity cannot be read", "the identity can be read by tasks"],
  tasks: ["another task's files cannot be read", "another task's files can be read"],
  environment: ["the delegate's environment and memory cannot be read", "the delegate's environment can be read"],
  signals: ["the delegate cannot be signalled", "tasks could end the delegate: this kernel has no bound for signals here"],
  processes: ["a fork bomb stays within its bound", "no bound for processes could be set"],
};

/** The attack: what it says is open, is. */
const ATTACK = `cat "$P_IDENTITY" >/dev/null 2>&1 && echo "open identity"
cat "$P_OTHER" >/dev/null 2>&1 && echo "open tasks"
[ "$(readlink /proc/self/ns/pid)" = "$P_PIDS" ] && kill -0 "$P_PID" 2>/dev/null && echo "open signals"
read -r own _ < /proc/self/stat
if [ "$own" != $$ ] || [ "$(readlink /proc/self/ns/pid)" = "$P_PIDS" ]; then
  head -c 1 "/proc/$P_PID/environ" >/dev/null 2>&1 && echo "open environment"
fi
grep -q '^Max processes *[0-9]' /proc/self/limits || [ "$P_BOUND" = 0 ] || echo "open processes"
grep -q '^NoNewPrivs:.*1' /proc/self/status || echo "broken privileges"
{ echo x > file; } 2>/dev/null && [ -s file ] || echo "broken workspace"
echo end`;

/** Attacks a sandbox from within, as a task could. */
export async function probe(sandbox: Sandbox, workDir: string, bound = 1): Promise<{ holds: boolean; findings: Finding[]; why: string }> {
  const [mine, other] = ["probe-a", "probe-b"].map((name) => join(workDir, "tasks", name)) as [string, string];
  const identity = join(workDir, "identity.probe");
  const workspace: Workspace = {
    dir: mine,
    work: join(mine, "work"),
    home: join(mine, "home"),
    tmp: join(mine, "tmp"),
    mark: `OUTPOST_WORKSPACE=${mine}`,
  };
  const lines: string[] = [];
  let entered = false;
  try {
    for (const dir of [mine, other, workspace.work, workspace.home, workspace.tmp]) mkdirSync(dir, { recursive: true, mode: 0o700 });
    for (const path of [identity, join(other, "file")]) writeFileSync(path, "x", { mode: 0o600 });
    await sandbox.enter(workspace);
    entered = true;
    if (workspace.uid !== undefined) for (const path of [other, join(other, "file")]) chownSync(path, workspace.uid + 1, workspace.uid + 1);
    const env = {
      PATH: "/usr/bin:/bin",
      P_IDENTITY: identity,
      P_OTHER: join(other, "file"),
      P_PID: String(process.pid),
      P_PIDS: readlinkSync("/proc/self/ns/pid"),
      P_BOUND: String(bound),
    };
    const ran = await sandbox.run(
      workspace,
      { file: "/bin/sh", args: ["-c", ATTACK], cwd: workspace.work, env },
      { memoryBytes: 0, write: (_, text) => void lines.push(text), signal: AbortSignal.timeout(DEADLINE_MS) },
    );
    if (ran.kind !== "done") lines.push(ran.message);
  } catch (error) {
    lines.push((error as Error).message);
  } finally {
    if (entered) sandbox.leave(workspace);
    for (const path of [mine, other, identity]) rmSync(path, { recursive: true, force: true });
  }
  const open = lines.flatMap((line) => (line.startsWith("open ") ? [line.slice(5)] : []));
  const ended = lines.includes("end") && !lines.some((line) => line.startsWith("broken "));
  const findings = Object.entries(WHY).map(([name, [kept, not]]) => ({
    name,
    on: !open.includes(name),
    why: open.includes(name) ? not : kept,
  }));
  const worst = lines.filter((line) => line !== "end").join("; ");
  return { holds: ended && !CORE.some((name) => open.includes(name)), findings, why: worst.slice(0, 500) || "it did not run" };
}
