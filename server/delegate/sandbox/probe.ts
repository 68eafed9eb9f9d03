import { randomUUID } from "node:crypto";
import { chownSync, mkdirSync, readlinkSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Workspace } from "../workspace.ts";
import { sharedPlaces } from "./leftovers.ts";
import type { Finding, Sandbox } from "./protection.ts";
import { tool } from "./ways.ts";

// It takes a tenth of a second. On a machine whose processors are all taken it must not end in a weaker sandbox, or in none.
const DEADLINE_MS = 60_000;
// Without these there is no sandbox.
const CORE = ["identity", "tasks", "environment"];
/** The files of the delegate's owner: without this one it is a sandbox that leaks. */
const CREDENTIALS = "credentials";
const WHY: Record<string, [kept: string, open: string]> = {
  identity: ["the identity cannot be read", "the identity can be read by tasks"],
  [CREDENTIALS]: [
    "the token, settings, secrets and home cannot be read",
    "files of the token, settings, secrets or home can be read by tasks: make them readable for the delegate's user alone (chmod 600), or give it a way with mounts or Landlock",
  ],
  tasks: ["another task's files cannot be read", "another task's files can be read"],
  environment: ["the delegate's environment and memory cannot be read", "the delegate's environment can be read"],
  signals: [
    "the delegate cannot be signalled",
    "tasks could end the delegate: this kernel has no bound here for signals, or for files of other processes in /proc",
  ],
  shared: [
    "files that a task leaves in /tmp, /dev/shm and the like are no other task's",
    "tasks that run at once share /tmp, /dev/shm or other folders that every user may write to: give the delegate Landlock (with perl), or mounts and a work folder outside /tmp",
  ],
  processes: ["a fork bomb stays within its bound", "no bound for processes could be set"],
};

/** The attack: what it says is open, is. */
const ATTACK = `cat "$P_IDENTITY" >/dev/null 2>&1 && echo "open identity"
for file in "$@"; do head -c 1 "$file" 2>/dev/null | grep -q . && echo "open credentials" && break; done
cat "$P_OTHER" >/dev/null 2>&1 && echo "open tasks"
[ "$(readlink /proc/self/ns/pid)" = "$P_PIDS" ] && kill -0 "$P_PID" 2>/dev/null && echo "open signals"
# A bound of another process: with one of files or of processor time a task could blind or end the delegate.
[ "$(readlink /proc/self/ns/pid)" = "$P_PIDS" ] && "$P_PRLIMIT" --pid "$P_PID" --nofile >/dev/null 2>&1 && echo "open signals"
read -r own _ < /proc/self/stat
if [ "$own" != $$ ] || [ "$(readlink /proc/self/ns/pid)" = "$P_PIDS" ]; then
  head -c 1 "/proc/$P_PID/environ" >/dev/null 2>&1 && echo "open environment"
  # Its own value once more. With another one the kernel would end the delegate first when memory runs out.
  { read -r score < "/proc/$P_PID/oom_score_adj" && echo "$score" > "/proc/$P_PID/oom_score_adj"; } 2>/dev/null && echo "open signals"
fi
for place in $P_SHARED; do
  at=\${place%%:*}
  [ "$(stat -c %n:%d:%i "$at" 2>/dev/null)" = "$place" ] && ( : > "$at/$P_NAME" ) 2>/dev/null && rm -f "$at/$P_NAME" && echo "open shared" && break
done
grep -q '^Max processes *[0-9]' /proc/self/limits || [ "$P_BOUND" = 0 ] || echo "open processes"
grep -q '^NoNewPrivs:.*1' /proc/self/status || echo "broken privileges"
{ echo x > file; } 2>/dev/null && [ -s file ] || echo "broken workspace"
echo end`;

export interface Probed {
  holds: boolean;
  /** All but the credentials is kept. */
  leaks: boolean;
  findings: Finding[];
  why: string;
}

/** Each with its own numbers: a task that sees another folder under the name has that for itself. */
const numberedPlaces = () =>
  sharedPlaces().flatMap((path) => {
    const stat = statSync(path, { throwIfNoEntry: false });
    return stat ? [`${path}:${stat.dev}:${stat.ino}`] : [];
  });

/** Attacks a sandbox from within, as a task could. */
export async function probe(sandbox: Sandbox, workDir: string, samples: readonly string[], bound = 1): Promise<Probed> {
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
    for (const dir of [mine, other, workspace.work, workspace.home, workspace.tmp])
      mkdirSync(dir, { recursive: true, mode: 0o700 });
    for (const path of [identity, join(other, "file")]) writeFileSync(path, "x", { mode: 0o600 });
    await sandbox.enter(workspace);
    entered = true;
    if (workspace.uid !== undefined)
      for (const path of [other, join(other, "file")]) chownSync(path, workspace.uid + 1, workspace.uid + 1);
    const env = {
      PATH: "/usr/bin:/bin",
      P_IDENTITY: identity,
      P_OTHER: join(other, "file"),
      P_PID: String(process.pid),
      P_PIDS: readlinkSync("/proc/self/ns/pid"),
      P_BOUND: String(bound),
      P_SHARED: numberedPlaces().join(" "),
      P_NAME: `outpost-probe-${randomUUID()}`,
      P_PRLIMIT: tool("prlimit"),
    };
    const ran = await sandbox.run(
      workspace,
      { file: "/bin/sh", args: ["-c", ATTACK, "sh", ...samples], cwd: workspace.work, env },
      { memoryBytes: 0, write: (_, text) => void lines.push(text), signal: AbortSignal.timeout(DEADLINE_MS) },
    );
    if (ran.kind !== "done") lines.push(ran.message);
  } catch (error) {
    lines.push((error as Error).message);
  } finally {
    if (entered) await sandbox.leave(workspace);
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
  const sound = ended && !CORE.some((name) => open.includes(name));
  const leaking = open.includes(CREDENTIALS);
  return { holds: sound && !leaking, leaks: sound && leaking, findings, why: worst.slice(0, 500) || "it did not run" };
}
