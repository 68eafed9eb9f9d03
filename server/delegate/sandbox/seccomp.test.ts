import { jest } from "@jest/globals";
import { hostile, publicFolder } from "../testing/jail.ts";
import { filterFor } from "./seccomp.ts";

/** Bounds and priorities of others, where a task is the delegate's own user and sees its processes. */
jest.setTimeout(150_000);
const dir = publicFolder();

const OTHERS = `
try() { name=$1; shift; "$@" >/dev/null 2>&1 && echo "OPEN $name"; }
victims="$DELEGATE $(grep -al "sub farewel[l]" /proc/[0-9]*/cmdline 2>/dev/null | cut -d/ -f3)"
for pid in $victims; do
  try nofile prlimit --pid "$pid" --nofile=0:0
  try core prlimit --pid "$pid" --core=unlimited
  try read prlimit --pid "$pid" --cpu
  try affinity taskset -p 1 "$pid"
  try policy chrt --idle -p 0 "$pid"
  try priority renice -n 15 -p "$pid"
  try io ionice -c 3 -p "$pid"
done
try user renice -n 15 -u "$(id -u)"
perl -e 'syscall(248, "user", "left", "x", 1, -4) >= 0 and print "OPEN keys\\n"' 2>/dev/null
echo end`;

test("a task of the delegate's user cannot change bounds, priority or processors of the delegate or a supervisor", async () => {
  const got = await hostile(dir, "landlock", OTHERS);
  expect([got.level, got.lines, got.kept]).toEqual(["landlock", ["end"], true]);
  expect(got.findings.find(({ name }) => name === "signals")?.on).toBe(true);
});

const OWN = `
set -e
(ulimit -n 64; ulimit -c 0; sh -c 'ulimit -n')
prlimit --nofile=128:128 sh -c 'ulimit -n'
nice -n 5 true; ionice -c 3 true; taskset 1 true; chrt --idle 0 true
bash -c 'echo bash'; git --version >/dev/null
${process.execPath} -e 'require("os").setPriority(19); new (require("worker_threads").Worker)("console.log(1 + 1)", { eval: true })'
! command -v strace >/dev/null || strace -o /dev/null true
echo end`;

test("its own bounds and priority are a task's to set, and ordinary programs run", async () => {
  expect((await hostile(dir, "landlock", OWN, { HOSTILE_PROCESSES: "400" })).lines).toEqual([
    "64",
    "128",
    "bash",
    "2",
    "end",
  ]);
});

test("a processor without a list of calls has no filter, and the others have one in whole steps", () => {
  expect(filterFor("s390x")).toBeUndefined();
  for (const [arch, call] of [
    ["x64", "317"],
    ["arm64", "277"],
  ] as const) {
    const [number, steps] = filterFor(arch)!.split(":") as [string, string];
    expect([number, steps.length % 16]).toEqual([call, 0]);
  }
});
