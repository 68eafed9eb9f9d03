/**
 * `npm test`: everything, on a fresh clone too. `npm test -- lint house` runs only these stages; `-- --list` names them.
 * Logs of each stage are in .test/. The last line counts the tests of all stages.
 */
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { begin, elapsed, palette } from "./progress.mjs";
import { installPackages, packagesInstalled } from "./setup.mjs";
import { stages } from "./stages.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const logs = join(root, ".test");
const c = palette();
const args = process.argv.slice(2);
const long = args.includes("--long");
const wanted = args.filter((a) => !a.startsWith("-"));
const total = { passed: 0, failed: 0, skipped: 0 };
const failures = [];
/** Files that failed among the others and passed alone: told by name at the end. More than so many are not bad luck. */
const unsteady = [];
const MAX_UNSTEADY = 3;
const rows = [];
let running;
let stopping = false;

if (args.includes("--list")) {
  for (const s of stages) console.log(`${s.name.padEnd(10)} ${(s.jest ?? s.run.slice(0, 4)).join(" ")}`);
  process.exit(0);
}
// What a named stage needs is run too when it was never built.
if (
  wanted.length &&
  !existsSync(join(root, "dist/outpost.mjs")) &&
  stages.some((s) => wanted.includes(s.name) && s.needs)
)
  wanted.push("build");
const unknown = wanted.find((w) => !stages.some((s) => s.name === w));
if (unknown) {
  console.error(`there is no stage ${JSON.stringify(unknown)}; npm test -- --list`);
  process.exit(2);
}
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.once(signal, () => {
    stopping = true;
    if (running) end(running, "SIGTERM");
    setTimeout(() => process.exit(130), 3_000);
  });
}

mkdirSync(logs, { recursive: true });
const started = Date.now();
await setUp();
const broken = new Set();
for (const stage of stages) {
  const isUsual = long ? stage.long || stage.name === "build" : !stage.figures;
  if (wanted.length ? !wanted.includes(stage.name) : !isUsual) continue;
  const missing = stage.needs?.find((n) => broken.has(n));
  if (missing) {
    begin(stage.name).fail(`not run, because ${missing} failed`);
    add(stage, { passed: 0, failed: 1, skipped: 0 }, 0);
    continue;
  }
  if (stage.jest && !stage.jest.some((path) => hasTests(join(root, path)))) continue;
  await runStage(stage);
}
summary();

async function runStage(stage) {
  const step = begin(stage.name);
  const minutes = (long && stage.long) || stage.minutes;
  const log = join(logs, `${stage.name}.log`);
  const result = join(logs, `${stage.name}.json`);
  rmSync(result, { force: true });
  const command = stage.run ?? [
    process.execPath,
    "--experimental-vm-modules",
    "--no-warnings",
    join(root, "node_modules/jest/bin/jest.js"),
    "--ci",
    "--json",
    `--outputFile=${result}`,
    `--config=${stage.config ?? "test/jest.config.mjs"}`,
    stage.serial ? "--runInBand" : "--maxWorkers=2",
    ...stage.jest
      .filter((path) => existsSync(join(root, path)))
      .map((path) => `${path}${path.endsWith(".ts") ? "$" : "/"}`),
  ];
  const from = Date.now();
  const first = await child(command, log, minutes * 60_000, (line) => step.note(line));
  const counts = stage.run
    ? { passed: first.code === 0 ? 1 : 0, failed: first.code === 0 ? 0 : 1, skipped: 0 }
    : jestCounts(result, first.code);
  let { code, late } = first;
  const files = stage.jest && !long && !late ? failedFiles(result) : [];
  if (files.length && unsteady.length + files.length <= MAX_UNSTEADY) {
    step.note(`again, alone: ${files.join(", ")}`);
    const left = minutes * 60_000 - (Date.now() - from);
    const alone = [
      ...command.filter((a) => !stage.jest.includes(a.replace(/[$/]$/, "")) && !a.startsWith("--maxWorkers")),
      "--runInBand",
    ];
    const again = await child(
      [...alone, ...files.map((f) => `${f}$`)],
      join(logs, `${stage.name}.again.log`),
      left,
      (line) => step.note(line),
    );
    const second = jestCounts(result, again.code);
    if (again.code === 0 && second.failed === 0) {
      unsteady.push(...files.map((file) => ({ file, log: `.test/${stage.name}.log` })));
      counts.passed += counts.failed;
      counts.failed = code = 0;
    }
    late = again.late;
  }
  const took = Date.now() - from;
  add(stage, counts, took);
  const said = stage.run
    ? ""
    : `${counts.passed} passed${counts.failed ? `, ${counts.failed} failed` : ""}${counts.skipped ? `, ${counts.skipped} skipped` : ""}`;
  if (code === 0 && counts.failed === 0) {
    step.done(said);
    if (stage.figures) console.log(readFileSync(log, "utf8").trimEnd().replace(/^/gm, "  "));
    return;
  }
  broken.add(stage.name);
  step.fail(late ? `ended after ${minutes} min` : said);
  const text = readFileSync(log, "utf8").trimEnd();
  failures.push({ name: stage.name, text: excerpt(text) });
}

/** Everything of a failed test in jest's words, or the end of any other log. */
function excerpt(text) {
  const lines = text.split("\n");
  const bullets = lines.findIndex((l) => /^\s*● /.test(l));
  return (bullets < 0 ? lines.slice(-60) : lines.slice(bullets, bullets + 160)).join("\n");
}

function jestCounts(file, code) {
  if (!existsSync(file)) return { passed: 0, failed: 1, skipped: 0 };
  const r = JSON.parse(readFileSync(file, "utf8"));
  const failed = r.numFailedTests + r.numRuntimeErrorTestSuites;
  return {
    passed: r.numPassedTests,
    failed: failed || (code === 0 ? 0 : 1),
    skipped: r.numPendingTests + r.numTodoTests,
  };
}

/** The test files that failed, when it was tests that failed and not the runner. */
function failedFiles(file) {
  if (!existsSync(file)) return [];
  const { testResults } = JSON.parse(readFileSync(file, "utf8"));
  return testResults.filter((r) => r.status === "failed").map((r) => relative(root, r.name));
}

function add(stage, counts, took) {
  for (const key of Object.keys(total)) total[key] += counts[key];
  if (counts.failed) broken.add(stage.name);
  rows.push({ name: stage.name, ...counts, took });
}

/** Runs in a process group of its own, so that a stage that is too late goes with everything it started. */
function child(command, log, deadlineMs, line) {
  return new Promise((resolve) => {
    const out = openSync(log, "w");
    const env = {
      ...process.env,
      FORCE_COLOR: "0",
      OUTPOST_NODE: "1",
      CHECKPOINT_DISABLE: "1",
      ...(long ? { PROVE: "1" } : {}),
    };
    if (stopping) return resolve({ code: 130, late: false });
    running = spawn(command[0], command.slice(1), { cwd: root, env, stdio: ["ignore", out, out], detached: true });
    const me = running;
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      end(me, "SIGTERM");
      setTimeout(() => end(me, "SIGKILL"), 10_000).unref();
    }, deadlineMs);
    const tail = setInterval(() => line(lastLine(log)), 1_000);
    const finish = (code) => {
      clearTimeout(timer);
      clearInterval(tail);
      resolve({ code, late });
    };
    me.once("error", (error) => {
      writeFileSync(log, `${error.message}\n`);
      finish(1);
    });
    me.once("exit", (code) => finish(code ?? 1));
  });
}

function end(process_, signal) {
  try {
    process.kill(-process_.pid, signal);
  } catch {
    // It has ended by itself.
  }
}

function lastLine(file) {
  const lines = readFileSync(file, "utf8").trimEnd().split("\n");
  return (lines.at(-1) ?? "").slice(0, 200);
}

function hasTests(path) {
  if (path.endsWith(".ts")) return existsSync(path);
  return existsSync(path) && readdirSync(path, { recursive: true }).some((f) => String(f).endsWith(".test.ts"));
}

/** What the stages need: packages as locked, and the servers of the tests. */
async function setUp() {
  if (!packagesInstalled(root)) {
    const step = begin("install packages");
    try {
      await installPackages(root, join(logs, "npm.log"));
      step.done();
    } catch (error) {
      step.fail();
      console.log(`${error.message}\n\n0 passed, 1 failed`);
      process.exit(1);
    }
  }
  const missing = [
    ["redis-server", "redis-server"],
    ["openssl", "openssl"],
    ["git", "git"],
  ].filter(([program]) => spawnSync(program, ["--version"], { stdio: "ignore" }).error);
  if (missing.length && process.getuid?.() === 0) {
    const step = begin(`installing ${missing.map(([, p]) => p).join(", ")}`);
    spawnSync("apt-get", ["update", "-q"], { stdio: "ignore" });
    const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
    const { status } = spawnSync(
      "apt-get",
      ["install", "-y", "-q", "--no-install-recommends", ...missing.map(([, p]) => p)],
      {
        stdio: "ignore",
        env,
      },
    );
    status === 0 ? step.done() : step.fail();
  } else if (missing.length)
    console.log(c.yellow(`missing: ${missing.map(([p]) => p).join(", ")}; install them, some tests will fail`));
  findSshd();
}

/** The tests of SSH use a server of their own. Its package is unpacked, not installed: installing would start one for the whole machine. */
function findSshd() {
  const args = ["--import", "tsx", "test/cluster/main.ts", "sshd"];
  const { status, stdout } = spawnSync(process.execPath, args, { cwd: root, encoding: "utf8", timeout: 300_000 });
  if (status !== 0) return console.log(c.yellow("missing: sshd; the tests of SSH are skipped"));
  const { sshd, libraries } = JSON.parse(stdout);
  Object.assign(process.env, { OUTPOST_SSHD: sshd, OUTPOST_SSHD_LIBRARIES: libraries.join(":") });
}

function summary() {
  for (const { name, text } of failures) console.log(`\n${c.red("✗")} ${c.bold(name)} (.test/${name}.log)\n${text}`);
  for (const { file, log } of unsteady)
    console.log(`\n${c.yellow("!")} failed at first, passed when run again alone: ${file} (${log})`);
  console.log(
    `\n${"stage".padEnd(12)}${"passed".padStart(8)}${"failed".padStart(8)}${"skipped".padStart(8)}${"time".padStart(14)}`,
  );
  for (const r of rows)
    console.log(
      `${r.name.padEnd(12)}${String(r.passed).padStart(8)}${String(r.failed).padStart(8)}${String(r.skipped).padStart(8)}${elapsed(r.took).padStart(14)}`,
    );
  console.log(
    `${"all".padEnd(12)}${String(total.passed).padStart(8)}${String(total.failed).padStart(8)}${String(total.skipped).padStart(8)}${elapsed(Date.now() - started).padStart(14)}\n`,
  );
  process.exitCode = total.failed || total.passed === 0 ? 1 : 0;
  console.log(`${total.passed} passed, ${total.failed} failed${total.skipped ? `, ${total.skipped} skipped` : ""}`);
}
