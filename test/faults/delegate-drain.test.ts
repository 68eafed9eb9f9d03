import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { run, until } from "../servers/run.ts";
import { within } from "../within.ts";
import { type DelegateWorld, delegateWorld } from "./delegate-world.ts";
import { ok } from "./link-world.ts";

// Guarantees 15, 16, 17 and 20. PROVE gives the figures of the promises.
const TASKS = process.env.PROVE ? 100 : 12;
let w: DelegateWorld;
const starts: (() => void)[] = [];

beforeAll(async () => {
  w = await delegateWorld();
  for (const start of starts) start();
}, 90_000);
afterAll(() => w?.stop(), 30_000);

/** A test that runs beside the others: all of them wait for leases to run out, and may do it at the same time. */
function scenario(name: string, run: () => Promise<void>): void {
  let running: Promise<void>;
  starts.push(() => {
    running = run();
    running.catch(() => {});
  });
  test(name, () => running, 240_000);
}

scenario(
  "a delegate that is asked to leave lets all its tasks end: none is given to another, and new ones go elsewhere",
  async () => {
    const leaving = await w.start("leaving", { spec: { tags: ["drain"], capacity: TASKS } });
    const ledger = w.ledger();
    const ids: string[] = [];
    for (let n = 0; n < TASKS; n++)
      ids.push(
        await w.shell(`echo begun >> ${ledger.path}; sleep 18; echo done >> ${ledger.path}`, { selectors: ["drain"] }),
      );
    await until("all to have begun", () => ledger.lines().length === TASKS, 30_000);
    await w.start("staying", { spec: { tags: ["drain"] } });
    leaving.child.kill("SIGTERM");
    await until("it drains", () => leaving.said().includes("draining"), 5_000);
    const late = await w.shell("echo $OUTPOST_FENCE", { selectors: ["drain"] });
    const [other] = await w.ended([late], 30_000);
    expect([other!.state, other!.attempts[0]!.worker.split("/")[0]]).toEqual(["Succeeded", "staying"]);
    // Longer than a lease: without heartbeats in the drain these would have been lost.
    const tasks = await w.ended(ids, 60_000);
    expect(tasks.map(({ state, attempts }) => [state, attempts.length])).toEqual(tasks.map(() => ["Succeeded", 1]));
    await until("its end", () => leaving.ended(), 20_000);
    expect([leaving.ended(), ledger.lines().filter((line) => line === "done").length]).toEqual([
      "ended with code 0",
      TASKS,
    ]);
  },
);

scenario(
  "when the grace is over the rest is ended: what may be repeated is done elsewhere, what may not is Unknown",
  async () => {
    const leaving = await w.start("hurried", { spec: { tags: ["grace"] }, env: { OUTPOST_GRACE_SECONDS: "2" } });
    const ledger = w.ledger();
    const script = `echo begun >> ${ledger.path}; [ $OUTPOST_ATTEMPT = 2 ] || sleep 100; echo done >> ${ledger.path}`;
    const ids = [
      await w.shell(script, { selectors: ["grace"], idempotent: true }),
      await w.shell(script, { selectors: ["grace"] }),
    ];
    await until("both to have begun", () => ledger.lines().length === 2, 20_000);
    await w.start("patient", { spec: { tags: ["grace"] } });
    const from = Date.now();
    leaving.child.kill("SIGTERM");
    await until("its end", () => leaving.ended(), 15_000);
    expect(Date.now() - from).toBeLessThan(within(12_000));
    expect((await w.ended(ids, 60_000)).map(({ state }) => state)).toEqual(["Succeeded", "Unknown"]);
    expect(ledger.lines()).toEqual(["begun", "begun", "begun", "done"]);
  },
);

scenario("a task that no delegate takes is explained within 10 s, with one reason for each of them", async () => {
  const bare = join(w.dir, "bin");
  mkdirSync(bare);
  // The world starts programs by setpriv; git is what this one lacks.
  symlinkSync((await run("sh", ["-c", "command -v setpriv"])).stdout.trim(), join(bare, "setpriv"));
  ok(await w.service.api.PUT("/v1/organizations/{id}", { params: { path: { id: "other" } }, body: { spec: {} } }));
  const gone = await w.start("gone", { spec: { tags: ["explain"] } });
  await w.start("elsewhere", { spec: { tags: ["explain"] }, org: "other" });
  await w.start("untagged");
  await w.start("gitless", { spec: { tags: ["explain"] }, env: { PATH: bare } });
  await w.start("full", { spec: { tags: ["explain", "busy"], capacity: 1 } });
  const busy = await w.shell("sleep 300", { selectors: ["busy"] });
  await until("it is full", async () => (await w.task(busy)).state === "Running", 20_000);
  await gone.stop("SIGKILL");
  const seen = async (id: string) =>
    ok(await w.service.api.GET("/v1/delegates/{id}", { params: { path: { id } } })).status.connected;
  await until("the killed one counts as away", async () => (await seen("gone")) === false, 30_000);

  const from = Date.now();
  const body = {
    kind: "git.clone" as const,
    params: { url: "https://git.example.com/a.git" },
    selectors: ["explain"],
    timeoutSeconds: 60,
    maxAttempts: 1,
    idempotent: true,
  };
  const { id } = ok(await w.service.api.POST("/v1/tasks", { params: {}, body }));
  const mine = ["gone", "elsewhere", "untagged", "gitless", "full"];
  const explanation = await until(
    "an explanation",
    async () => {
      const found = (await w.task(id)).explanation?.filter(({ worker }) => mine.includes(worker.split("/")[0]!));
      return found?.length === mine.length && found;
    },
    10_000,
  );
  expect(Date.now() - from).toBeLessThan(within(10_000));
  expect(
    Object.fromEntries(explanation.map(({ worker, reason }) => [worker.split("/")[0], reason.split(":")[0]])),
  ).toEqual({
    gone: "Disconnected",
    elsewhere: "OutOfScope",
    untagged: "SelectorMismatch",
    gitless: "NotCapable",
    full: "Full",
  });
  for (const task of [id, busy])
    ok(await w.service.api.POST("/v1/tasks/{task}/cancel", { params: { path: { task } } }));
  expect((await w.ended([id, busy], 20_000)).map(({ state }) => state)).toEqual(["Cancelled", "Cancelled"]);
});
