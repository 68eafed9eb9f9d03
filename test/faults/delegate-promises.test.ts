import { readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Daemon, until } from "../servers/run.ts";
import { within } from "../within.ts";
import { type DelegateWorld, delegateWorld } from "./delegate-world.ts";
import { ok } from "./link-world.ts";

// Guarantees 13, 14, 21 and 29. PROVE makes the log long.
const LINES = process.env.PROVE ? 2_000_000 : 150_000;
// Longer than a lease.
const LEASE_SECONDS = 15;
const NOTICED_MS = 15_000;
let w: DelegateWorld;
beforeAll(async () => {
  w = await delegateWorld();
}, 90_000);
afterAll(() => w?.stop(), 60_000);

/** A clock that is wrong by so many minutes, for a whole process and its threads. */
function wrongClock(minutes: number): NodeJS.ProcessEnv {
  const file = join(w.dir, `clock${minutes}.cjs`);
  const shifted = `const Real = Date;
globalThis.Date = class extends Real {
  constructor(...given) { given.length ? super(...given) : super(Real.now() + ${minutes * 60_000}); }
  static now() { return Real.now() + ${minutes * 60_000}; }
};
`;
  writeFileSync(file, shifted);
  return { NODE_OPTIONS: `--require=${file}` };
}

test.each([10, -10])(
  "a delegate whose clock is %d minutes off keeps its lease, and loses it in time when it dies",
  async (minutes) => {
    const id = minutes > 0 ? "fast" : "slow";
    const delegate = await w.start(id, { env: wrongClock(minutes) });
    const long = await w.shell(`sleep ${LEASE_SECONDS + 3}`, { selectors: [id] });
    const [kept] = await w.ended([long], 60_000);
    expect([kept!.state, kept!.attempts.length]).toEqual(["Succeeded", 1]);
    const lost = await w.shell("sleep 300", { selectors: [id], timeoutSeconds: 600 });
    await until("the task to run", async () => (await w.task(lost)).state === "Running", 20_000);
    await delegate.stop("SIGKILL");
    const killed = Date.now();
    const [end] = await w.ended([lost], 40_000);
    expect([end!.state, end!.reason]).toEqual(["Unknown", "WorkerLost"]);
    expect(Date.now() - killed).toBeLessThan(within(NOTICED_MS));
  },
  120_000,
);

test("a delegate whose tasks take all processors is not declared dead", async () => {
  await w.start("busy");
  const burn = `end=$(($(date +%s) + ${LEASE_SECONDS + 3})); for i in 1 2 3; do (while [ $(date +%s) -lt $end ]; do :; done) & done; wait`;
  const ids = [await w.shell(burn, { selectors: ["busy"] }), await w.shell(burn, { selectors: ["busy"] })];
  const ended = await w.ended(ids, 90_000);
  expect(ended.map(({ state, attempts }) => [state, attempts.length])).toEqual([
    ["Succeeded", 1],
    ["Succeeded", 1],
  ]);
}, 120_000);

test("a log is shown once and in order, though the service is killed in the middle; memory stays bounded", async () => {
  const delegate = await w.start("talker", { env: { OUTPOST_TASK_OUTPUT_MIB: "0" } });
  const id = await w.shell(
    `i=0; while [ $i -lt ${LINES} ]; do i=$((i+1)); echo $i; [ $((i % 20000)) = 0 ] && sleep 0.2; done; true`,
    {
      selectors: ["talker"],
      timeoutSeconds: 900,
    },
  );
  await until("the first lines", async () => (await lines(id, 0)).length > 0, 30_000);
  let most = 0;
  const watch = setInterval(() => {
    most = Math.max(most, memoryMiB(delegate));
  }, 200);
  await w.service.kill();
  await w.service.start();
  const [task] = await w.ended([id], 900_000);
  clearInterval(watch);
  expect([task!.state, task!.attempts.length]).toEqual(["Succeeded", 1]);
  const seen: string[] = [];
  for (let after = 0; ; ) {
    const page = await lines(id, after);
    if (page.length === 0) break;
    seen.push(...page.filter((line) => line.stream === "stdout").map((line) => line.text));
    after = page.at(-1)!.seq;
  }
  // What is kept of a log has a bound; up to there no line is missing, none is there twice.
  expect(seen.length).toBeGreaterThan(Math.min(LINES, 300_000) - 1);
  expect(seen.findIndex((line, i) => line !== String(i + 1))).toBe(-1);
  expect(most).toBeLessThan(400);
}, 1_000_000);

async function lines(task: string, after: number) {
  const params = { path: { task }, query: { after } };
  return ok(await w.service.api.GET("/v1/tasks/{task}/logs", { params })).items;
}

test("no socket listens but on loopback, while tasks run too", async () => {
  const delegate = await w.start("closed");
  const id = await w.shell("sleep 5", { selectors: ["closed"] });
  await until("the task to run", async () => (await w.task(id)).state === "Running", 20_000);
  const listening = pidsOf(delegate).flatMap(listeners);
  expect(listening.length).toBeGreaterThan(0);
  expect(
    listening.filter(
      (address) => !/^(0100007F|00000000000000000000000001000000|0000000000000000FFFF00000100007F):/.test(address),
    ),
  ).toEqual([]);
  await w.ended([id], 30_000);
}, 60_000);

/** The process and what it has started. */
function pidsOf({ child }: Daemon): number[] {
  const found = [child.pid!];
  for (const pid of found) {
    for (const task of list(`/proc/${pid}/task`)) {
      const children = readFileSync(`/proc/${pid}/task/${task}/children`, "utf8").trim();
      found.push(...children.split(" ").filter(Boolean).map(Number));
    }
  }
  return found;
}

/** Local addresses, as the kernel writes them, on which a process listens for TCP. */
function listeners(pid: number): string[] {
  const inodes = new Set(
    list(`/proc/${pid}/fd`).flatMap((fd) => /^socket:\[(\d+)\]$/.exec(link(`/proc/${pid}/fd/${fd}`))?.[1] ?? []),
  );
  return ["tcp", "tcp6"].flatMap((family) =>
    readFileSync(`/proc/${pid}/net/${family}`, "utf8")
      .split("\n")
      .slice(1)
      .map((line) => line.trim().split(/\s+/))
      .filter((fields) => fields[3] === "0A" && inodes.has(fields[9]!))
      .map((fields) => fields[1]!),
  );
}

function memoryMiB({ child }: Daemon): number {
  try {
    return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}

function list(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

function link(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}
