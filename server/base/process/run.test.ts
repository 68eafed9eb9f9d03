import { within } from "../../../test/within.ts";
import { RUN_REASONS, type RunOptions, run } from "./run.ts";

const base: Omit<RunOptions, "args"> = {
  cwd: "/",
  deadlineMs: 60_000,
  maxBytes: 10_000,
  env: { PATH: "/usr/bin:/bin" },
};
const sh = (script: string, more: Partial<RunOptions> = {}) =>
  run("/bin/sh", { ...base, ...more, args: ["-c", script] });

test("gives the exit code, both outputs and passes the input", async () => {
  const got = await sh("cat; echo problem >&2; exit 3", { stdin: "hello" });
  expect(got).toMatchObject({ kind: "done", value: { code: 3, stderr: "problem\n" } });
  expect(got.kind === "done" && got.value.stdout.toString()).toBe("hello");
});
test("inherits only the variables that are named", async () => {
  process.env.RUN_TEST_SECRET = "canary";
  const got = await sh('echo "[$RUN_TEST_SECRET][$HOME]"', { inherit: ["HOME"] });
  delete process.env.RUN_TEST_SECRET;
  expect(got.kind === "done" && got.value.stdout.toString().trim()).toBe(`[][${process.env.HOME}]`);
});
test("kills the whole group at the deadline", async () => {
  const started = Date.now();
  const got = await sh("trap '' TERM; (sleep 30) & sleep 30", { deadlineMs: 100 });
  expect(got).toMatchObject({ kind: "again", reason: RUN_REASONS.deadline });
  expect(Date.now() - started).toBeLessThan(within(4_000));
});
test("ends a child that writes too much", async () => {
  expect(await sh("yes", { maxBytes: 1_000 })).toMatchObject({ kind: "stop", reason: RUN_REASONS.output });
});
test.each([
  ["a child that takes too much memory is ended", 60, "stop"],
  ["what the child starts counts", 60, "stop", "node -e '%' & wait"],
  ["a child that reserves memory and does not touch it goes on", 0, "done"],
])("%s", async (_name, touchedMiB, want, script = "exec node -e '%'") => {
  const code = `const b = []; for (let i = 0; i < ${touchedMiB}; i++) b.push(Buffer.alloc(2**20, 1)); const r = Buffer.allocUnsafeSlow(600 * 2**20); if (${touchedMiB}) setInterval(() => {}, 1000)`;
  const got = await sh(script.replace("%", code), { maxResidentBytes: 90 * 2 ** 20, env: { PATH: process.env.PATH! } });
  expect(got).toMatchObject(
    want === "done" ? { kind: "done", value: { code: 0 } } : { kind: "stop", reason: RUN_REASONS.memory },
  );
});
test("does not wait for what a child left behind", async () => {
  const started = Date.now();
  expect(await sh("sleep 30 & echo done")).toMatchObject({ kind: "done", value: { code: 0 } });
  expect(Date.now() - started).toBeLessThan(within(4_000));
});
test("says when the tool is missing", async () => {
  expect(await run("/nowhere/tool", { ...base, args: [] })).toMatchObject({
    kind: "stop",
    reason: RUN_REASONS.missing,
    message: "tool is not installed",
  });
});
test("can be cancelled", async () => {
  const abort = new AbortController();
  const running = sh("sleep 30", { signal: abort.signal });
  abort.abort();
  expect(await running).toMatchObject({ kind: "stop", reason: RUN_REASONS.cancelled });
});
