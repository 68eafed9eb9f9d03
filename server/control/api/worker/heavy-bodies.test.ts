import { type ClientRequest, request } from "node:http";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { agentsOf } from "../../testing/agents.ts";
import { delegatesOf } from "../../testing/delegates.ts";
import { eventually, startService, type TestService } from "../../testing/service.ts";
import { TestWorker } from "../../testing/worker.ts";

/** A worker that was let in and sends as much as it may at once. Others go on, and what the service holds of it is bounded. */
let s: TestService;
let hostile: TestWorker;
let honest: TestWorker;
beforeAll(async () => {
  s = await startService();
  const { put, tokenOf } = agentsOf(() => s);
  const open = async (id: string) => {
    await put(`/v1/agents/${id}`, {});
    return (await new TestWorker(s.url, "i-1", `cluster-${id}`).enrol(await tokenOf(id))).open();
  };
  [hostile, honest] = [await open("hostile"), await open("honest")];
}, 60_000);
afterAll(() => s?.stop());

const MIB = 1024 * 1024;
const SIZE = 15 * MIB;
const FRAMES = process.env.PROVE ? 200 : 40;
setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;
/** Without buffers that are only waiting for the garbage collector. */
const bytesHeld = () => {
  collectGarbage();
  return process.memoryUsage().arrayBuffers / MIB;
};

/** A body of which the last byte never comes. What the service answers, or `cut`. */
function halfSend(bytes: Buffer): { asked: ClientRequest; ended: Promise<number | "cut">; sent: Promise<void> } {
  const asked = request(`${s.url}/v1/worker/exchange`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${hostile.session}`,
      "content-type": "application/json",
      "content-length": bytes.length + 1,
    },
  });
  const ended = new Promise<number | "cut">((resolve) => {
    asked.on("response", (answer) => {
      answer.resume();
      resolve(answer.statusCode!);
    });
    asked.on("error", () => resolve("cut"));
    asked.on("close", () => resolve("cut"));
  });
  const sent = new Promise<void>((resolve) => {
    asked.write(bytes, () => resolve());
  });
  return { asked, ended, sent: Promise.race([sent, ended.then(() => {})]) };
}

test("half-sent exchanges hold a bounded number of bytes, and another worker's come through", async () => {
  const bytes = Buffer.alloc(SIZE, 0x20);
  const before = bytesHeld();
  const sending = Array.from({ length: 40 }, () => halfSend(bytes));
  await Promise.all(sending.map(({ sent }) => sent));
  const reports = Array.from({ length: 400 }, (_, i) => ({
    collection: "applications" as const,
    key: `-/-/a-${i}`,
    uid: `00000000-0000-4000-8000-${String(i).padStart(12, "0")}`,
    generation: 1,
    outcome: "applied" as const,
    message: "x".repeat(4_000),
  }));
  expect((await honest.exchange({ reports })).answer.status).toBe(200);
  // What the requests of this process hold themselves does not count here twice: one buffer is sent by all.
  expect(bytesHeld() - before).toBeLessThan(200);
  for (const { asked } of sending) asked.destroy();
  const ends = await Promise.all(sending.map(({ ended }) => ended));
  expect(ends.filter((end) => end === 429).length + ends.filter((end) => end === "cut").length).toBe(40);
}, 60_000);

const large = (i: number) => ({
  collection: "applications" as const,
  key: `-/-/a-${i}`,
  uid: `00000000-0000-4000-8000-${String(i).padStart(12, "0")}`,
  generation: 1,
  outcome: "applied" as const,
  message: "x".repeat(20),
});

test("floods of reports of objects that are not the agent's cost no transaction, and a person writes beside them", async () => {
  const reports = Array.from({ length: 5_000 }, (_, i) => large(i % 2_500));
  let isOver = false;
  let writes = 0;
  const person = (async () => {
    while (!isOver) {
      const body = { spec: { mode: "cluster", namespace: `n-${++writes}` } };
      expect((await s.ask("PUT", "/v1/agents/person", { body })).status).toBeLessThan(300);
    }
  })();
  const before = (await s.db.query("select count(*)::int n from events"))[0]!.n;
  for (let frame = 0; frame < FRAMES; frame++)
    expect((await hostile.exchange({ reports: frame % 2 ? reports : reports.toReversed() })).answer.status).toBe(200);
  isOver = true;
  await person;
  expect((await s.db.query("select count(*)::int n from events"))[0]!.n - before).toBeLessThanOrEqual(2 * writes);
  expect(writes).toBeGreaterThan(FRAMES / 10);
}, 240_000);

test("of one worker two large bodies are worked on at once: a third is refused for the moment, small ones and others' are not", async () => {
  const { heavy } = s.running.services.strangers;
  const reports = Array.from({ length: 5_000 }, (_, i) => ({ ...large(i), message: "x".repeat(200) }));
  const send = (worker: TestWorker, wait = 0) => worker.call("exchange", { wait, free: 0, reports });
  const leave = [1, 2].map(() => heavy.tryTake("default agent:hostile")!);
  expect(await send(hostile)).toMatchObject({ status: 429, body: { code: "too_many_requests" } });
  expect((await hostile.exchange()).answer.status).toBe(200);
  expect((await send(honest)).status).toBe(200);
  for (const each of leave) each();
  expect((await send(hostile)).status).toBe(200);
  // What waits for news holds no place: all was taken in.
  const waiting = [send(hostile, 2), send(hostile, 2)];
  await Promise.all(waiting);
  expect(heavy.taken).toBe(0);
}, 60_000);

test("a delegate that waits holds no place of large bodies: four of them would keep all agents from reporting", async () => {
  const { strangers, metrics } = s.running.services;
  const delegate = await delegatesOf(() => s).replica("padded");
  const polls = async () => (await metrics.polls.get()).values[0]?.value ?? 0;
  const before = await polls();
  const reports = Array.from({ length: 5_000 }, (_, i) => ({ ...large(i), message: "x".repeat(200) }));
  const waiting = [1, 2].map(() => delegate.call("exchange", { wait: 3, free: 0, reports }));
  await eventually("both to wait", async () => (await polls()) === before + 2);
  expect(strangers.heavy.taken).toBe(0);
  expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual([200, 200]);
}, 60_000);
