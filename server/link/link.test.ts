import { mkdtempSync, rmSync, statSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { within } from "../../test/within.ts";
import type { WorkerObject, WorkerTask } from "./exchange.ts";
import { MemoryIdentity } from "./identity/identity.ts";
import { Leases } from "./leases.ts";
import { type Link, type LinkOptions, startLink } from "./link.ts";
import { SILENT } from "./log.ts";
import { LogShipper } from "./logs.ts";
import { sendResult } from "./result.ts";
import { type FakeService, foreignToken, startFakeService } from "./testing/fake-service.ts";

let fake: FakeService;
let stop: AbortController;
let running: Link[];
const warned: string[] = [];

beforeEach(async () => {
  fake = await startFakeService();
  stop = new AbortController();
  running = [];
  warned.length = 0;
});
afterEach(async () => {
  stop.abort();
  await Promise.all(running.map((link) => link.done));
  await fake.close();
  expect(fake.breaches).toEqual([]);
});

function start(more: Partial<LinkOptions> = {}, env: NodeJS.ProcessEnv = { OUTPOST_TOKEN: fake.token }) {
  const objects: WorkerObject[] = [];
  const tasks: WorkerTask[] = [];
  const cancelled: string[] = [];
  const lost: string[] = [];
  const leases = new Leases();
  const link = startLink({
    endpoint: fake.endpoint,
    env,
    kind: "agent",
    store: new MemoryIdentity(),
    instance: "i1",
    version: "0.1.0",
    leases,
    lost: (gone) => lost.push(...gone.map((lease) => lease.task)),
    heartbeatThread: false,
    waitSeconds: 1,
    log: {
      ...SILENT,
      warn: (_fields, message) => warned.push(message),
      error: (_fields, message) => warned.push(message),
    },
    signal: stop.signal,
    worker: {
      known: async () => [],
      object: (object) => objects.push(object) > 0,
      task: (task) => leases.take(task) && tasks.push(task) > 0,
      cancel: (task) => cancelled.push(task),
      free: () => 4,
    },
    ...more,
  });
  running.push(link);
  return { link, objects, tasks, cancelled, lost, leases };
}
const until = async (what: () => unknown, ms = 60_000) => {
  const end = Date.now() + ms;
  while (!what()) {
    if (Date.now() > end) throw new Error(`not within ${ms} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
};
const object = (generation = 1): Omit<WorkerObject, "worker"> => ({
  collection: "applications",
  key: "-/-/a",
  name: "a",
  uid: "u1",
  generation,
  op: "put",
  spec: {},
});

test("enrols, opens a session, tells what it knows and takes objects, tasks and cancellations", async () => {
  const { objects, tasks, cancelled } = start();
  await until(() => fake.known.length === 1);
  fake.objects.push(object());
  fake.tasks.push({ task: "t1", kind: "shell.run", params: {}, fence: 1, attempt: 1, timeoutSeconds: 5 });
  fake.cancel.push("t0");
  await until(() => objects.length && tasks.length && cancelled.length);
  expect(objects[0]).toMatchObject({ key: "-/-/a", generation: 1 });
  expect(fake.enrolments).toHaveLength(1);
});

test("a lost answer to the enrolment is asked again with the same keys", async () => {
  let cut = 2;
  fake.meddle = (operation, reply) => (operation === "enrol" && cut-- > 0 ? "cut" : reply);
  start();
  await until(() => fake.sessions.length);
  expect(fake.enrolments.length).toBe(3);
  expect(new Set(fake.enrolments.map((request) => request.signKey)).size).toBe(1);
});

test("sends nothing but its own nonce to a service that the token was not made for", async () => {
  start({}, { OUTPOST_TOKEN: await foreignToken() });
  await until(() => warned.some((text) => text.includes("is not the service that this token was made for")));
  expect(fake.enrolments).toHaveLength(0);
});

test("a report arrives while a poll waits, and again when the answer was lost", async () => {
  const { link } = start({ waitSeconds: 20 });
  await until(() => fake.known.length);
  let cut = 1;
  fake.meddle = (operation, reply) => (operation === "exchange" && cut-- > 0 ? "cut" : reply);
  link.reports.put({ collection: "applications", key: "-/-/a", uid: "u1" }, { status: { n: 1 } });
  await until(() => link.reports.size === 0);
  expect(fake.reports.map((report) => report.status)).toEqual([{ n: 1 }, { n: 1 }]);
});

test("a session that the service forgot is opened again, with everything known", async () => {
  const { objects } = start();
  await until(() => fake.known.length === 1);
  fake.expireSessions();
  await until(() => fake.known.length === 2);
  expect(fake.sessions).toHaveLength(2);
  fake.objects.push(object(2));
  await until(() => objects.length);
});

test("says which program answered when it is not Outpost", async () => {
  fake.meddle = () => ({ status: 200, raw: "<html>sign in</html>", headers: { "content-type": "text/html" } });
  start();
  await until(() => warned.some((text) => text.includes("answered 200 with text/html, which Outpost never does")));
});

test("names DNS, connect and HTTP failures apart", async () => {
  const free = createServer();
  const port = await new Promise<number>((resolve) =>
    free.listen(0, "127.0.0.1", () => resolve((free.address() as { port: number }).port)),
  );
  await new Promise((resolve) => free.close(resolve));
  start({ endpoint: "https://nowhere.invalid" });
  start({ endpoint: `http://127.0.0.1:${port}` });
  start({ endpoint: "http://outpost.test" }, { OUTPOST_TOKEN: fake.token, HTTP_PROXY: `http://127.0.0.1:${port}` });
  await until(() => warned.length >= 3);
  const all = warned.join("\n");
  expect(all).toContain("the name nowhere.invalid cannot be resolved");
  expect(all).toContain(`no connection to http://127.0.0.1:${port} (ECONNREFUSED)`);
  expect(all).toContain(`no connection to the proxy 127.0.0.1:${port} (ECONNREFUSED)`);
});

test("a changed object is not taken, and the others with it are", async () => {
  const { objects } = start();
  await until(() => fake.known.length);
  fake.objects.push(object(1), object(2));
  fake.meddle = (operation, reply) => {
    const body = reply.body as { objects: { body: string }[] };
    if (operation === "exchange" && body.objects.length)
      body.objects[0]!.body = body.objects[0]!.body.replace('"a"', '"b"');
    return reply;
  };
  await until(() => objects.length);
  expect(objects.map((taken) => taken.generation)).toEqual([2]);
  expect(warned.join()).toContain("the signature does not fit");
});

test("what is rightly signed and broken is left out and said, and the session goes on", async () => {
  const { objects, tasks } = start();
  await until(() => fake.known.length);
  const broken = [
    { ...object(), collection: "unknown", worker: "w1" },
    { ...object(), spec: "x", worker: "w1" },
    { worker: "w1" },
    { ...object(), generation: "1", worker: "w1" },
    { ...object(), more: true, worker: "w1" },
  ];
  fake.objects.push(object(9));
  fake.tasks.push({ task: "t1", kind: "no.such", params: {}, fence: 1, attempt: 1, timeoutSeconds: 5 });
  let once = true;
  fake.meddle = (operation, reply) => {
    const body = reply.body as { objects: unknown[]; tasks: unknown[]; cancel: unknown[] };
    if (operation !== "exchange" || !once || !body.objects.length) return reply;
    once = false;
    const bad = [...broken.map((one) => fake.signed(one)), null, 7, "x", []];
    return {
      ...reply,
      body: { ...body, objects: [...bad, ...body.objects], tasks: [null, ...body.tasks], cancel: [null, 7] },
    };
  };
  await until(() => objects.length);
  expect(objects.map(({ generation }) => generation)).toEqual([9]);
  expect(tasks.map(({ kind }) => kind)).toEqual(["no.such"]);
  expect(warned.join()).toContain("does not fit the contract");
  fake.objects.push(object(10));
  await until(() => objects.length === 2);
  expect(fake.sessions).toHaveLength(1);
});

test("a report that the service refuses is left out and named; thousands of others arrive", async () => {
  const { link } = start();
  await until(() => fake.known.length);
  for (let i = 0; i < 3_000; i++) {
    const bad = i === 1_234 ? ({ outcome: "exploded" } as never) : { status: { n: i } };
    link.reports.put({ collection: "applications", key: `-/-/a${i}`, uid: `u${i}` }, bad);
  }
  await until(() => link.reports.size === 0);
  expect(new Set(fake.reports.map(({ uid }) => uid)).size).toBe(2_999);
  expect(warned.join()).toContain("the service refuses a report, which is left out");
  expect(fake.sessions).toHaveLength(1);
  expect(fake.breaches.length).toBeGreaterThan(0);
  fake.breaches.length = 0;
});

test("a task under an old fence is not taken again", async () => {
  const { tasks, leases } = start();
  for (const fence of [3, 3, 2]) {
    fake.tasks.push({ task: "t1", kind: "shell.run", params: {}, fence, attempt: 1, timeoutSeconds: 5 });
    await until(() => !fake.tasks.length);
  }
  fake.tasks.push({ task: "t2", kind: "shell.run", params: {}, fence: 1, attempt: 1, timeoutSeconds: 5 });
  await until(() => leases.size === 2);
  expect(tasks.map((task) => task.task)).toEqual(["t1", "t2"]);
});

test("leases are renewed; one that the service took away is lost", async () => {
  fake.heartbeatSeconds = 0.05;
  const { lost, leases } = start();
  leases.take({ task: "t1", fence: 1 });
  leases.take({ task: "t2", fence: 7 });
  await until(() => fake.beats.some((beat) => beat.length === 2));
  fake.lost.add("t1");
  await until(() => lost.length);
  expect(lost).toEqual(["t1"]);
  expect(leases.list()).toEqual([{ task: "t2", fence: 7 }]);
});

test("a worker that cannot renew its leases gives them up by itself, in time", async () => {
  fake.heartbeatSeconds = 0.1;
  fake.leaseSeconds = 0.6;
  const { lost, leases } = start();
  leases.take({ task: "t1", fence: 1 });
  await until(() => fake.beats.some((beat) => beat.length === 1));
  const from = performance.now();
  fake.meddle = (operation, reply) => (operation === "heartbeat" ? "hang" : reply);
  await until(() => lost.length);
  expect(performance.now() - from).toBeLessThan(within(1_500));
});

test("the heartbeat's own thread beats while the main loop is busy", async () => {
  const service = await startFakeServiceProcess();
  try {
    const { link, leases } = start(
      { endpoint: service.endpoint, heartbeatThread: true },
      { OUTPOST_TOKEN: service.token },
    );
    await until(() => link.session.open && link.sinceBeat() !== undefined);
    leases.take({ task: "t1", fence: 1 });
    link.leasesChanged();
    const before = service.beats();
    const end = Date.now() + 60_000;
    // A busy main loop: nothing else of this thread runs until there are five more.
    while (service.beats() < before + 5 && Date.now() < end);
    expect(service.beats() - before).toBeGreaterThanOrEqual(5);
  } finally {
    await service.stop();
  }
}, 40_000);

test("log lines arrive once and in order though requests and answers are lost", async () => {
  const { link } = start();
  await until(() => link.session.open);
  let n = 0;
  // Every third answer is lost after the service has taken the lines.
  fake.meddle = (operation, reply) => (operation === "logs" && n++ % 3 === 0 ? "cut" : reply);
  const shipper = new LogShipper({
    session: link.session,
    lease: { task: "t1", fence: 1 },
    signal: stop.signal,
    refused: () => undefined,
  });
  for (let line = 1; line <= 5_000; line++) await shipper.write("stdout", `line ${line}`);
  await shipper.end();
  expect(fake.logs.get("t1")!.map((line) => line.text)).toEqual(
    Array.from({ length: 5_000 }, (_, i) => `line ${i + 1}`),
  );
  expect(shipper.last).toBe(5_000);
});

test("a writer waits while the service takes no lines, so that memory stays bounded", async () => {
  const { link } = start();
  await until(() => link.session.open);
  let closed = true;
  fake.meddle = (operation, reply) =>
    operation === "logs" && closed ? { status: 503, headers: { "retry-after": "0" } } : reply;
  const shipper = new LogShipper({
    session: link.session,
    lease: { task: "t1", fence: 1 },
    signal: stop.signal,
    refused: () => undefined,
  });
  let written = 0;
  const writing = (async () => {
    for (; written < 300; written++) await shipper.write("stdout", "x".repeat(60_000));
  })();
  await until(() => written > 10);
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(written).toBeLessThan(60);
  closed = false;
  await writing;
  await shipper.end();
  expect(fake.logs.get("t1")).toHaveLength(300);
});

test("a result is sent until it arrives; a late one is refused by its fence", async () => {
  const { link } = start();
  await until(() => link.session.open);
  let cut = 1;
  fake.meddle = (operation, reply) => (operation === "result" && cut-- > 0 ? "cut" : reply);
  expect(await sendResult(link.session, { task: "t1", fence: 1 }, { outcome: "succeeded" }, stop.signal)).toMatchObject(
    { kind: "done" },
  );
  fake.lost.add("t2");
  expect(await sendResult(link.session, { task: "t2", fence: 1 }, { outcome: "succeeded" }, stop.signal)).toMatchObject(
    {
      kind: "stop",
      reason: "stale_fence",
    },
  );
});

/** The fake service in a process of its own, so that this one may be busy. */
async function startFakeServiceProcess() {
  const { spawn } = await import("node:child_process");
  const dir = mkdtempSync(join(tmpdir(), "link-"));
  // A byte for each beat that renews something: a busy loop can look at that.
  const file = join(dir, "beats");
  const program = `
    import { appendFileSync } from "node:fs";
    import { startFakeService } from ${JSON.stringify(new URL("./testing/fake-service.ts", import.meta.url).href)};
    const fake = await startFakeService();
    fake.heartbeatSeconds = 0.1;
    console.log(JSON.stringify({ endpoint: fake.endpoint, token: fake.token }));
    fake.beats.push = (beat) => (beat.length && appendFileSync(${JSON.stringify(file)}, "."), 1);
    process.stdin.on("data", () => {}).on("end", () => process.exit());
  `;
  const child = spawn(process.execPath, ["--import", "tsx", "--input-type=module", "-e", program], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const lines: string[] = [];
  child.stdout.setEncoding("utf8").on("data", (text: string) => lines.push(...text.trim().split("\n")));
  await until(() => lines.length);
  const { endpoint, token } = JSON.parse(lines.shift()!);
  return {
    endpoint,
    token,
    beats: () => statSync(file, { throwIfNoEntry: false })?.size ?? 0,
    stop: async () => {
      await new Promise((resolve) => {
        child.once("exit", resolve);
        child.stdin.end();
      });
      rmSync(dir, { recursive: true });
    },
  };
}
