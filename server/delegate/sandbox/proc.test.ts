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

test.each(WAYS_HERE)("%s: no file of the delegate in /proc can be written to, and work goes on", async (way) => {
  const got = await hostile(dir, way, WRITES);
  expect([got.level, got.lines.filter((line) => line.startsWith("WRITTEN"))]).toEqual([way, []]);
  expect(got.lines.at(-1)).toBe("end");
  if (got.lines.length > 1) expect(got.lines).toEqual(expect.arrayContaining(["works", "signals"]));
  expect(got.findings.find(({ name }) => name === "signals")?.on).toBe(true);
});
