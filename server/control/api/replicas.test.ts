import { type PostgresServer, startPostgres } from "../../../test/servers/postgres.ts";
import { within } from "../../../test/within.ts";
import { openStore } from "../store/store.ts";
import { delegatesOf } from "../testing/delegates.ts";
import { ask, eventually, startService, type TestService } from "../testing/service.ts";

let postgres: PostgresServer;
let a: TestService;
let b: TestService;
beforeAll(async () => {
  postgres = await startPostgres();
  const { url } = await postgres.database();
  a = await startService({ db: await openStore({ url, poolSize: 8 }) });
  b = await startService({ db: await openStore({ url, poolSize: 8 }) });
}, 120_000);
afterAll(async () => {
  await Promise.all([a?.stop(), b?.stop()]);
  await postgres?.stop();
});
const onA = delegatesOf(() => a);
const task = async (id: string) => (await ask(b.url, "GET", `/v1/tasks/${id}`, { key: a.admin })).body;

test("a task that one replica queues is started by a worker of the other, and its end is seen on both at once", async () => {
  const [near, far] = [await onA.replica("near"), await onA.replica("far", { url: b.url })];
  /** How long a task waits in the middle of 20, queued at `a` for a worker that waits at `at`. */
  const wait = async (worker: typeof far, at: TestService, selectors: string[]) => {
    const waits: number[] = [];
    for (let i = 0; i < 20; i++) {
      const poll = worker.exchange({ wait: 20, free: 1 });
      await eventually("the worker waits", async () => at.running.services.dispatchers.of("default").size === 1);
      const from = performance.now();
      const { id } = await onA.create({ selectors });
      const { tasks } = await poll;
      waits.push(performance.now() - from);
      expect(tasks.map((t) => t.task)).toEqual([id]);
      await onA.end(worker, tasks[0]!);
      expect([(await onA.task(id)).state, (await task(id)).state]).toEqual(["Succeeded", "Succeeded"]);
    }
    return waits.sort((x, y) => x - y)[10]!;
  };
  const beside = await wait(near, a, ["near"]);
  // Without the wake-up between replicas it would be the second until the next look; a busy machine takes long on one replica too.
  expect(await wait(far, b, ["far"])).toBeLessThan(Math.max(500, 3 * beside));
}, 60_000);

test("tasks are shared by the workers of both replicas, each task is given to one, and a cancel reaches a worker elsewhere", async () => {
  const workers = [
    await onA.replica("p", { spec: { tags: ["shared"] } }),
    await onA.replica("q", { spec: { tags: ["shared"] }, url: b.url }),
    await onA.replica("r", { spec: { tags: ["shared"] }, url: b.url }),
  ];
  const seen: string[] = [];
  const wanted = 60;
  const work = workers.map(async (worker) => {
    while (seen.length < wanted) {
      const { tasks } = await worker.exchange({ wait: 1, free: 3 });
      for (const t of tasks) {
        seen.push(t.task);
        await onA.end(worker, t);
      }
    }
  });
  const made = await Promise.all(Array.from({ length: wanted }, () => onA.create({ selectors: ["shared"] })));
  await Promise.all(work);
  expect(seen.sort()).toEqual(made.map((t) => t.id).sort());

  const { id } = await onA.create({ selectors: ["q"] });
  const leased = await onA.take(workers[1]!);
  expect(leased.task).toBe(id);
  const poll = workers[1]!.exchange({ wait: 10, free: 0 });
  await ask(a.url, "POST", `/v1/tasks/${id}/cancel`, { key: a.admin });
  expect((await poll).cancel).toEqual([id]);
  await onA.end(workers[1]!, leased, { outcome: "cancelled" });
}, 60_000);

test("leases that run out are swept once, whichever replica does it", async () => {
  const worker = await onA.replica("lost", { url: b.url, spec: { capacity: 20 } });
  const ids: string[] = [];
  for (let i = 0; i < 20; i++) ids.push((await onA.create({ selectors: ["lost"], idempotent: i % 2 === 0 })).id);
  const got = new Set<string>();
  // A lease whose answer is slow may be handed out twice.
  while (got.size < 20) for (const t of (await worker.exchange({ wait: 2, free: 10 })).tasks) got.add(t.task);
  await a.db.query("update tasks set lease_expires_at = now() - interval '1 second' where id = any($1::text[])", [ids]);
  const ended = await eventually("all are swept", async () => {
    const all = await Promise.all(ids.map(task));
    return all.every((t) => t.state !== "Running") && all;
  });
  for (const [i, t] of ended.entries()) {
    expect(t.attempts).toHaveLength(1);
    expect(t).toMatchObject({ state: i % 2 === 0 ? "Queued" : "Unknown", reason: "WorkerLost" });
  }
}, 60_000);

test("a watcher on one replica hears of tasks that the other one serves, and its stream ends when its key is gone", async () => {
  const key = (await a.ask("POST", "/v1/apikeys", { body: { id: "watcher", role: "viewer" } })).body.key;
  const response = await fetch(`${a.url}/v1/tasks/watch`, { headers: { authorization: `Bearer ${key}` } });
  let text = "";
  const reading = (async () => {
    for await (const chunk of response.body!) text += Buffer.from(chunk).toString();
  })();
  await eventually("the bookmark", async () => text.includes("event: bookmark"));
  const worker = await onA.replica("heard", { url: b.url });
  const { id } = (
    await ask(b.url, "POST", "/v1/tasks", {
      key: a.admin,
      body: { kind: "shell.run", params: { script: "true" }, selectors: ["heard"] },
    })
  ).body;
  const states = () =>
    [...text.matchAll(/^data: (.+)$/gm)]
      .map((m) => JSON.parse(m[1]!))
      .filter((t) => t.id === id)
      .map((t) => t.state);
  await eventually("queued", async () => states().includes("Queued"));
  const leased = await onA.take(worker);
  await eventually("running", async () => states().includes("Running"));
  await onA.end(worker, leased);
  await eventually("succeeded", async () => states().at(-1) === "Succeeded");
  expect((await a.ask("DELETE", "/v1/apikeys/watcher")).status).toBe(204);
  const from = performance.now();
  await reading;
  expect(performance.now() - from).toBeLessThan(within(5_000));
}, 60_000);
