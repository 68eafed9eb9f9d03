import { jest } from "@jest/globals";
import { hostile, publicFolder, WAYS_HERE } from "../testing/jail.ts";

/** Files of /proc that every process of a user may write to, whatever else is closed. */
jest.setTimeout(150_000);
const dir = publicFolder();

// Where the task has a /proc of its own, these numbers are none, or its own processes: only the delegate itself counts. Threads have numbers too.
const WRITES = `
others() { head -c 2000 "/proc/$1/cmdline" 2>/dev/null | grep -aq "testing/hostile[.]ts"; }
others "$DELEGATE" || { echo end; exit 0; }
for pid in $DELEGATE $(ls /proc/$DELEGATE/task | tail -1); do
  for file in oom_score_adj autogroup coredump_filter clear_refs sched comm timerslack_ns uid_map setgroups; do
    value=$(cat "/proc/$pid/$file" 2>/dev/null | head -1)
    case $file in autogroup) value=19 ;; clear_refs | sched) value=1 ;; oom_score_adj) value=900 ;; esac
    { echo "$value" > "/proc/$pid/$file"; } 2>/dev/null && echo "WRITTEN $file"
  done
done
echo x > file && mkdir a b && echo y > a/file && mv a/file b/file && ln b/file linked && : > /dev/null && echo works
sh -c 'kill -0 $PPID' && echo signals
echo end`;

const cases = WAYS_HERE.flatMap((way) => [
  [way, "a command", {}] as const,
  ...(way.includes("landlock") ? [] : [[way, "a command that builds images", { HOSTILE_USERS: "true" }] as const]),
]);

test.each(cases)("%s: %s can write to no file of the delegate in /proc, and works", async (way, _, more) => {
  const got = await hostile(dir, way, WRITES, more);
  expect([got.level, got.lines.filter((line) => line.startsWith("WRITTEN"))]).toEqual([way, []]);
  expect(got.lines.at(-1)).toBe("end");
  if (got.lines.length > 1) expect(got.lines).toEqual(expect.arrayContaining(["works", "signals"]));
  expect(got.findings.find(({ name }) => name === "signals")?.on).toBe(true);
});

test("a command in the machine's /proc cannot make it writable again", async () => {
  const again = `mount -o remount,bind,rw /proc; umount -l /proc
unshare -m sh -c 'mount -o remount,bind,rw /proc; umount -l /proc; mount -t proc proc /proc; ${WRITES.replaceAll("'", "'\\''")}'`;
  const got = await hostile(dir, "user+mount", again, { HOSTILE_USERS: "true" });
  expect(got.lines.filter((line) => line.startsWith("WRITTEN"))).toEqual([]);
  expect(got.lines.at(-1)).toBe("end");
});

test.each(WAYS_HERE.filter((way) => way.includes("landlock")))(
  "%s: a command that builds images is refused with what to do, because no builder can mount there",
  async (way) => {
    const got = await hostile(dir, way, "echo ran", { HOSTILE_USERS: "true" });
    expect([got.lines, got.code]).toEqual([[], expect.stringMatching(/Landlock, which forbids .* user namespaces/)]);
  },
);
