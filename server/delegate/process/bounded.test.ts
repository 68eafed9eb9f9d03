import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { within } from "../../../test/within.ts";
import { lives, temporaryFolder, until } from "../testing/temporary.ts";
import { runBounded, type Stream } from "./bounded.ts";
import { findTree } from "./tree.ts";

const dir = temporaryFolder();
let count = 0;

function start(
  script: string,
  options: { memoryBytes?: number; write?: (stream: Stream, text: string) => Promise<void> | undefined } = {},
) {
  const lines: string[] = [];
  const stop = new AbortController();
  const mark = `OUTPOST_WORKSPACE=${dir}/${++count}`;
  const env = { PATH: process.env.PATH!, [mark.slice(0, mark.indexOf("="))]: mark.slice(mark.indexOf("=") + 1) };
  const write = options.write ?? ((stream, text) => void lines.push(`${stream}: ${text}`));
  const ended = runBounded(
    { file: "/bin/sh", args: ["-c", script], cwd: dir, env },
    { mark, memoryBytes: options.memoryBytes ?? 0, write, signal: stop.signal },
  );
  return { lines, stop, mark, ended, left: () => findTree({ variable: mark }) };
}

test.each<[string, string, number, string[]]>([
  ["output of both streams", "echo out; echo err >&2", 0, ["stdout: out", "stderr: err"]],
  ["its exit code", "exit 7", 7, []],
  ["a signal as 128 + n", "kill -TERM $$", 143, []],
  ["a last line without its end", "printf 'a\\nb'", 0, ["stdout: a", "stdout: b"]],
  ["nothing on its standard input", "cat; echo end", 0, ["stdout: end"]],
  ["a program that is missing", "exec no-such-program", 127, [expect.stringMatching(/not found/) as never]],
])("runs to the end: %s", async (_name, script, code, want) => {
  const ran = start(script);
  expect(await ran.ended).toEqual({ kind: "done", value: code });
  expect([...ran.lines].sort()).toEqual([...want].sort());
});

test("what a command leaves running ends with it, in its group, in a session of its own, and without its environment", async () => {
  const pids = join(dir, "left");
  const ran = start(
    `sleep 600 & echo $! > ${pids}; setsid sleep 600 & echo $! >> ${pids}; env -i /bin/sleep 600 & echo $! >> ${pids}; sleep 0.2; echo done`,
  );
  expect(await ran.ended).toEqual({ kind: "done", value: 0 });
  const left = readFileSync(pids, "utf8").trim().split("\n").map(Number);
  expect([left.length, left.filter(lives)]).toEqual([3, []]);
});

test("a supervisor that may open no more files still ends every process", async () => {
  const pids = join(dir, "blinded");
  // $PPID is the supervisor, which is the same user here.
  const from = Date.now();
  const ran = start(
    `for i in 1 2 3; do setsid env -i /bin/sh -c 'trap "" TERM HUP; while :; do sleep 1; done' & echo $! >> ${pids}; done; prlimit --pid $PPID --nofile=0:0; echo done`,
  );
  expect(await ran.ended).toEqual({ kind: "done", value: 0 });
  expect(ran.lines).toEqual(["stdout: done"]);
  // By itself: before, it gave up after 5 s, and the delegate's own look ended them.
  expect(Date.now() - from).toBeLessThan(within(4_000));
  const left = readFileSync(pids, "utf8").trim().split("\n").map(Number);
  expect([left.length, left.filter(lives)]).toEqual([3, []]);
});

test("processes that cannot be looked for are not taken for none", () => {
  const tree = new URL("./tree.ts", import.meta.url).href;
  const program = `
    import { openSync } from "node:fs";
    const { tryFindTree, signalTree } = await import(${JSON.stringify(tree)});
    try { for (;;) openSync("/dev/null"); } catch {}
    const found = [tryFindTree({ variable: "A=B" }), signalTree({ variable: "A=B" }, "SIGTERM")];
    process.stderr.write(JSON.stringify(found));
    process.exit(0);`;
  const ran = spawnSync(
    "sh",
    ["-c", 'ulimit -n 256; exec "$@"', "sh", process.execPath, "--import", "tsx", "--input-type=module", "-e", program],
    {
      encoding: "utf8",
      timeout: 60_000,
    },
  );
  expect(ran.stderr).toBe("[null,1]");
});

test("the end reaches a nested tree that ignores being asked, within 5 s", async () => {
  const file = join(dir, "nested");
  const inner = `trap "" TERM INT HUP; echo $$ >> ${file}; while :; do sleep 1; done`;
  const ran = start(
    `trap "" TERM; sh -c '${inner}' & setsid sh -c '${inner}' & (setsid sh -c '${inner}' &) ; echo up; while :; do sleep 1; done`,
  );
  await until(
    "three nested shells",
    () => existsSync(file) && readFileSync(file, "utf8").trim().split("\n").length === 3,
  );
  const from = Date.now();
  ran.stop.abort();
  expect(await ran.ended).toMatchObject({ kind: "done", value: 137 });
  expect(Date.now() - from).toBeLessThan(within(5_000));
  expect([ran.left(), readFileSync(file, "utf8").trim().split("\n").map(Number).filter(lives)]).toEqual([[], []]);
});

test("a command that heeds being asked may clean up first", async () => {
  const ran = start(`trap "echo cleaned; exit 3" TERM; echo up; while :; do sleep 0.05; done`);
  await until("its start", () => ran.lines.includes("stdout: up"));
  ran.stop.abort();
  expect(await ran.ended).toEqual({ kind: "done", value: 3 });
  expect(ran.lines.filter((line) => line.startsWith("stdout"))).toEqual(["stdout: up", "stdout: cleaned"]);
});

test("a reader that is slow holds the command back instead of filling the memory", async () => {
  let release = () => {};
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  let seen = 0;
  const ran = start("yes 0123456789 | head -c 8000000; echo end >&2", {
    write: () => (++seen === 1 ? gate : undefined),
  });
  await until("the first line", () => seen > 0);
  expect(seen).toBeLessThan(200);
  release();
  expect(await ran.ended).toEqual({ kind: "done", value: 0 });
  expect(seen).toBeGreaterThan(700_000);
});

test("memory beyond the bound is refused to the process, not taken from the delegate", async () => {
  const hungry = `${process.execPath} -e 'const a = []; for (;;) a.push(Buffer.alloc(16777216, 1))'`;
  const ran = start(hungry, { memoryBytes: 512 * 1024 * 1024 });
  const code = (await ran.ended) as { kind: "done"; value: number };
  expect(code.value).not.toBe(0);
});

test("it was not started when its signal had ended before", async () => {
  const stop = new AbortController();
  stop.abort();
  const command = { file: "/bin/sh", args: ["-c", `touch ${dir}/never`], cwd: dir, env: {} };
  const ran = await runBounded(command, { mark: "A=B", memoryBytes: 0, write: () => undefined, signal: stop.signal });
  expect([ran.kind, existsSync(join(dir, "never"))]).toEqual(["stop", false]);
});

test.each([
  ["", ""],
  [", though their supervisor may open no more files", "prlimit --pid $PPID --nofile=0:0; "],
])("a delegate that is killed takes its tasks' processes along%s", async (_name, blind) => {
  const file = join(dir, `orphan-${blind.length}`);
  const source = new URL("./bounded.ts", import.meta.url).href;
  const program = `
    import { runBounded } from ${JSON.stringify(source)};
    const command = { file: "/bin/sh", args: ["-c", "${blind}setsid env -i /bin/sleep 600 & echo $! > ${file}; wait"], cwd: ${JSON.stringify(dir)}, env: { PATH: process.env.PATH } };
    setInterval(() => {}, 1000);
    void runBounded(command, { mark: "A=B", memoryBytes: 0, write: () => undefined, signal: new AbortController().signal });
    const { existsSync } = await import("node:fs");
    while (!existsSync(${JSON.stringify(file)})) await new Promise((r) => setTimeout(r, 10));
    process.kill(process.pid, "SIGKILL");`;
  const ran = spawnSync(process.execPath, ["--import", "tsx", "--input-type=module", "-e", program], {
    timeout: 120_000,
  });
  expect(ran.signal).toBe("SIGKILL");
  const pid = Number(readFileSync(file, "utf8"));
  await until("the end of the orphan", () => !lives(pid), 3_000);
});
