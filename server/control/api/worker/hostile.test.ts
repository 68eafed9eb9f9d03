import { delegatesOf } from "../../testing/delegates.ts";
import { startService, type TestService } from "../../testing/service.ts";
import { TestWorker } from "../../testing/worker.ts";

/** A worker that was let in, and speaks of what belongs to others. */
let s: TestService;
beforeAll(async () => {
  s = await startService();
}, 60_000);
afterAll(() => s?.stop());

const status = async (path: string) => (await s.ask("GET", path)).body.status;

test("an agent of one organization changes nothing of another's, whatever it names", async () => {
  for (const org of ["o1", "o2"]) {
    await s.ask("PUT", `/v1/organizations/${org}`, { body: { spec: {} } });
    await s.ask("PUT", `/v1/agents/a?org=${org}`, { body: { spec: { mode: "cluster", namespace: "outpost" } } });
  }
  const spec = { agent: "a", destination: {}, source: { repoUrl: "https://git.example/x", path: "." } };
  const theirs = (await s.ask("PUT", "/v1/applications/web?org=o1", { body: { spec } })).body;
  const { token } = (await s.ask("POST", "/v1/agents/a/tokens?org=o2", { body: {} })).body;
  const thief = await new TestWorker(s.url, "i-1", "cluster").enrol(token);
  const { session } = await thief.open();
  const before = await status("/v1/applications/web?org=o1");
  const exchange = (raw: string) =>
    s.ask("POST", "/v1/worker/exchange", { key: session, raw, headers: { "content-type": "application/json" } });
  const report = (fields: string) =>
    `{"wait":0,"free":0,"reports":[{"collection":"applications","key":"o1/-/web","uid":"${theirs.uid}","outcome":"deleted","generation":1${fields}}]}`;
  const frames: [string, number][] = [
    [report(""), 200],
    [report(',"revision":9007199254740991'), 200],
    [report(',"__proto__":{"gone":true}'), 400],
    // The last of two members counts, for all who read it.
    [report(',"uid":"x"'), 200],
    [report(',"status":{"health":{"status":"Healthy"},"constructor":{"prototype":{"x":1}}}'), 200],
    [
      `{"wait":0,"free":0,"known":[{"collection":"applications","key":"o1/-/web","uid":"${theirs.uid}","generation":99}]}`,
      200,
    ],
    [
      `{"wait":0,"free":0,"discovered":[{"collection":"applications","namespace":"outpost","name":"web","uid":"u","mark":"${theirs.uid}","deleted":true}]}`,
      200,
    ],
    [`{"wait":1e999,"free":0}`, 400],
    [`{"wait":0,"free":-1}`, 400],
    [`{"wait":0,"free":0,"reports":${"[".repeat(100)}${"]".repeat(100)}}`, 400],
    [`{"wait":0,"free":0,"reports":[{"uid":"\\u0000"}]}`, 400],
  ];
  const got: [string, number][] = [];
  for (const [frame] of frames) got.push([frame, (await exchange(frame)).status]);
  expect(got).toEqual(frames);
  expect(await status("/v1/applications/web?org=o1")).toEqual(before);
  expect(({} as { x?: number }).x).toBeUndefined();
  expect((await s.ask("GET", "/v1/applications?org=o1")).body.items).toHaveLength(1);
  const compressed = await s.ask("POST", "/v1/worker/exchange", {
    key: session,
    raw: "x",
    headers: { "content-type": "application/json", "content-encoding": "gzip" },
  });
  expect(compressed.status).toBe(415);
}, 60_000);

test("a delegate writes neither lines, results nor files of a task that another one runs", async () => {
  const { replica, create, take } = delegatesOf(() => s);
  const [mine, other] = [await replica("d1"), await replica("d2", { query: "?org=o2" })];
  await create({});
  const task = await take(mine);
  const calls: [string, string, unknown][] = [
    ["POST", `/v1/worker/tasks/${task.task}/logs`, { fence: task.fence, first: 1, lines: [{ text: "forged" }] }],
    ["POST", `/v1/worker/tasks/${task.task}/complete`, { fence: task.fence, outcome: "succeeded" }],
    ["POST", `/v1/worker/tasks/${task.task}/result`, { fence: task.fence, outcome: "succeeded" }],
  ];
  const key = other.session;
  for (const [method, path, body] of calls)
    expect((await s.ask(method, path, { key, body })).status).toBeGreaterThanOrEqual(400);
  const beat = await s.ask("POST", "/v1/worker/heartbeat", {
    key,
    body: { leases: [{ task: task.task, fence: task.fence }] },
  });
  expect(beat.body.lost).toEqual([task.task]);
  expect((await s.ask("GET", `/v1/tasks/${task.task}`)).body.state).toBe("Running");
  expect((await s.ask("GET", `/v1/tasks/${task.task}/logs`)).text).not.toContain("forged");
}, 60_000);

test("an instance that was silent while a copy of its identity was let in does not go on beside it", async () => {
  const first = await delegatesOf(() => s).replica("copied");
  const copy = Object.assign(new TestWorker(s.url, "copy"), { sign: first.sign, worker: first.worker });
  expect((await copy.tryOpen()).body.code).toBe("worker_in_use");
  await s.db.query("update sessions set last_seen_at = now() - interval '20 seconds' where worker = $1", [
    first.worker,
  ]);
  await copy.open();
  const asked = await s.ask("POST", "/v1/worker/exchange", { key: first.session, body: { wait: 0, free: 1 } });
  expect(asked.status).toBe(401);
  expect((await first.tryOpen()).body.code).toBe("worker_in_use");
}, 60_000);
