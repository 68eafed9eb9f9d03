/**
 * The service with many applications and many watchers, on PostgreSQL: what lists, filters, counts and summaries take, beside the same query
 * sent bare; what gets, puts and lists take with 10,000 beside 100; what 2,000 watchers add to a write; what a first snapshot of summaries
 * takes. Then the embedded store's start. The service is a process of its own. Nine in ten applications are discovered.
 *
 *   npm run build && chrt -r 1 node --import tsx test/scale/service.ts [applications, 10000 unless told] [watchers, 2000 unless told]
 *
 * `chrt` puts this program and all that it starts before other work of the machine, which would otherwise make most of each p99.
 */
import { readFileSync } from "node:fs";
import { Agent, get, type IncomingMessage } from "node:http";
import { loadavg } from "node:os";
import { fieldNamed } from "../../server/control/domain/lists/fields.ts";
import { parseFilter } from "../../server/control/domain/lists/filter.ts";
import { writing } from "../../server/control/store/database/writer.ts";
import { countObjects } from "../../server/control/store/lists/counts.ts";
import { listRows } from "../../server/control/store/lists/list.ts";
import { readOrder } from "../../server/control/store/lists/order.ts";
import { SUMMARY_COLUMNS } from "../../server/control/store/lists/summary.ts";
import { insertObjects, type NewObject } from "../../server/control/store/objects/objects.ts";
import { readMatrix } from "../../server/control/store/services/matrix.ts";
import { openStore } from "../../server/control/store/store.ts";
import { ask } from "../../server/control/testing/service.ts";
import { type Service, startService } from "../faults/link-world.ts";
import { startPostgres } from "../servers/postgres.ts";
import { until } from "../servers/run.ts";

const [MANY = 10_000, WATCHERS = 2_000] = process.argv.slice(2).map(Number);
const FEW = 100;
/** The p99 of a hundred would be the longest of them. */
const SAMPLES = 300;
const WRITES = 50;
/** What a request takes by itself, with its key looked up; a shorter query counts as so long. */
const REQUEST_MS = 2;
const scope = { account: "default", org: "", project: "" };
/** USER_HZ: /proc counts processor time in hundredths of a second. */
const TICK_MS = 10;

const failed: string[] = [];
/** Prints a figure beside its aim. A noisy machine makes a time, not a ratio, long. */
function figure(name: string, value: number, aim: number, unit: string): void {
  if (value > aim) failed.push(name);
  console.log(`${value <= aim ? "ok    " : "beyond"}  ${name}: ${value.toFixed(2)} ${unit} (aim ${aim} ${unit})`);
}

const HEALTH = ["Healthy", "Healthy", "Healthy", "Degraded", "Progressing"];

/** About 5 KB, as an application with 20 resources and 10 entries of history. */
function application(n: number): NewObject {
  const resources = Array.from({ length: 20 }, (_, i) => ({
    ...{
      group: "apps",
      version: "v1",
      kind: "Deployment",
      namespace: `ns-${n}`,
      name: `deployment-${i}-of-${n}`,
      status: "Synced",
    },
    health: { status: "Healthy" },
  }));
  const conditions = Array.from({ length: 10 }, (_, i) => ({
    ...{
      type: `Condition${i}`,
      status: "True" as const,
      reason: "AsItIs",
      message: `message ${i} of application ${n}`,
    },
    lastTransitionTime: "2026-01-01T00:00:00Z",
  }));
  const found = {
    live: {
      namespace: "outpost-agent",
      name: `app-${n}`,
      uid: `uid-${n}`,
      labels: {
        team: `team-${n % 50}`,
        "harness.io/serviceRef": `service-${n % 2_000}`,
        "harness.io/envRef": `environment-${n % 3}`,
      },
    },
  };
  return {
    ...scope,
    collection: "applications",
    id: `app-${n}`,
    spec: {
      agent: `agent-${n % 40}`,
      argoProject: "default",
      source: { repoUrl: `https://git.example/team-${n % 50}/deploy.git`, path: `apps/${n}`, targetRevision: "main" },
      destination: { namespace: `ns-${n}` },
    },
    status: {
      sync: { status: n % 7 ? "Synced" : "OutOfSync", revision: n.toString(16).padStart(40, "0") },
      health: { status: HEALTH[n % 5]! },
      images: [`registry.example/service-${n % 2_000}:v${n % 7}`],
      history: [{ id: 1, deployedAt: "2026-01-01T00:00:00Z" }],
      resources,
      conditions,
    },
    ...(n % 10 ? { origin: "discovered" as const, found } : {}),
  };
}

const percentile = (times: number[], share: number): number =>
  [...times].sort((a, b) => a - b)[Math.floor(times.length * share)]!;

async function timed(work: (n: number) => Promise<unknown>, samples = SAMPLES): Promise<number[]> {
  const times: number[] = [];
  for (let n = 0; n < samples; n++) {
    const started = performance.now();
    await work(n);
    times.push(performance.now() - started);
  }
  return times;
}

/** Processor time of a process so far. */
function cpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ");
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

const postgres = await startPostgres({ durable: true, settings: { shared_buffers: "256MB" } });
const { url } = await postgres.database();
const s = await startService({ DATABASE_URL: url });
const db = await openStore({ url });
try {
  const [{ account }] = (await db.query("select account from accounts")) as [{ account: string }];
  scope.account = account;
  const call = async (method: string, path: string, body?: object) => {
    const answer = await ask(s.url, method, path, { key: s.apiKey, ...(body ? { body } : {}) });
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.text.slice(0, 300)}`);
    return answer;
  };
  const seed = async (from: number, to: number) => {
    for (let at = from; at < to; at += 250) {
      const some = Array.from({ length: Math.min(250, to - at) }, (_, i) => ({ ...application(at + i), account }));
      await writing(db, account, (w) => insertObjects(w, some));
    }
    await db.query("vacuum analyze objects");
  };
  for (let n = 0; n < 40; n++) await call("PUT", `/v1/agents/agent-${n}`, { spec: {} });

  const people = async () => ({
    get: await timed((n) => call("GET", `/v1/applications/app-${n % FEW}`)),
    put: await timed((n) => call("PUT", "/v1/organizations/changing", { spec: { description: `${Date.now()} ${n}` } })),
    list: await timed(() => call("GET", `/v1/applications?limit=${FEW}`)),
  });
  await seed(0, FEW);
  await people();
  const few = await people();
  await seed(FEW, MANY);
  const many = await people();
  for (const name of ["get", "put", "list"] as const) {
    console.log(`${name}: p50 ${percentile(few[name], 0.5).toFixed(1)} → ${percentile(many[name], 0.5).toFixed(1)} ms`);
    figure(
      `${name}, p99 with ${MANY} beside ${FEW}`,
      percentile(many[name], 0.99) / percentile(few[name], 0.99),
      1.5,
      "×",
    );
  }

  const page = (filter: string, sort?: string) => () => {
    const options = { inherited: false, limit: 101, filter: parseFilter(filter), order: readOrder(sort) };
    return listRows(db, { collection: "applications", scope, columns: SUMMARY_COLUMNS }, options);
  };
  const groups = (by: string) => () => {
    const fields = new Map(by.split(",").map((name) => [name, fieldNamed(name)!]));
    return countObjects(db, { collection: "applications", scope }, { inherited: false, filter: [], by: fields });
  };
  const asked: [string, string, () => Promise<unknown>][] = [
    ["filter by agent (2 %)", "/v1/applications?view=summary&filter=agent=agent-7", page("agent=agent-7")],
    ["filter that finds nothing", "/v1/applications?view=summary&filter=health=Missing", page("health=Missing")],
    ["filter by a label (2 %)", "/v1/applications?view=summary&filter=labels.team=team-7", page("labels.team=team-7")],
    ["filter health!=Healthy", "/v1/applications?view=summary&filter=health!=Healthy", page("health!=Healthy")],
    ["text in the id", "/v1/applications?view=summary&filter=id~999", page("id~999")],
    ["counts by health and sync", "/v1/counts/applications?by=health,sync", groups("health,sync")],
    ["counts by agent", "/v1/counts/applications?by=agent", groups("agent")],
    ["page of 100 summaries", "/v1/applications?view=summary", page("")],
    [
      "matrix of 100 of 2,000 services",
      "/v1/matrix",
      () => readMatrix(db, scope, { inherited: false, filter: [], after: "", limit: 101 }),
    ],
    ["the newest 100", "/v1/applications?view=summary&sort=-updatedAt", page("", "-updatedAt")],
  ];
  for (const [name, path, bare] of asked) {
    // By turns, so that both meet the same machine.
    const [ours, floor]: [number[], number[]] = [[], []];
    for (let n = 0; n < SAMPLES; n++) {
      ours.push(...(await timed(() => call("GET", path), 1)));
      floor.push(...(await timed(bare, 1)));
    }
    console.log(`${name}: p50 ${percentile(ours, 0.5).toFixed(1)} ms, bare ${percentile(floor, 0.5).toFixed(1)} ms`);
    figure(`${name}, p99`, percentile(ours, 0.99), 20, "ms");
    figure(
      `${name}, p50 beside the bare query`,
      percentile(ours, 0.5) / Math.max(percentile(floor, 0.5), REQUEST_MS),
      2,
      "×",
    );
  }
  const summaries = await call("GET", "/v1/applications?view=summary&limit=500");
  figure("a summary", summaries.text.length / 500 / 1_000, 0.4, "KB");

  await snapshot(s);
  await watchers(s, call);
} finally {
  await db.close();
  await s.stop();
  await postgres.stop();
}
await embedded();
console.log(`load ${loadavg()[0]!.toFixed(1)}${failed.length ? `; beyond their aim: ${failed.join("; ")}` : ""}`);

/** A first look at everything, as a dashboard takes it. */
async function snapshot({ url, apiKey, process: { child } }: Service): Promise<void> {
  const before = cpuMs(child.pid!);
  const started = performance.now();
  const answer = await fetch(`${url}/v1/watch?collections=applications&view=summary`, {
    headers: { authorization: `Bearer ${apiKey}` },
  });
  let bytes = 0;
  let puts = 0;
  for await (const chunk of answer.body as unknown as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    const text = Buffer.from(chunk).toString("latin1");
    puts += text.split("event: put").length - 1;
    if (text.includes("event: bookmark")) break;
  }
  figure(`first snapshot of ${puts} summaries`, (performance.now() - started) / 1_000, 1, "s");
  figure("its size", bytes / 1_048_576, 4, "MiB");
  console.log(`its processor time: ${cpuMs(child.pid!) - before} ms`);
}

/** Half of the watchers follow one application, the others those of an agent that are not healthy. One write concerns some fifty of them. */
async function watchers(
  { url, apiKey, process: { child } }: Service,
  call: (m: string, p: string, b?: object) => Promise<unknown>,
) {
  const write = async () => {
    for (let n = 0; n < WRITES; n++)
      await call("PUT", `/v1/agents/agent-${n % 40}`, { spec: { description: `${Date.now()} ${n}` } });
  };
  await write();
  const alone = await cost(write);
  const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
  const streams: IncomingMessage[] = [];
  const since = (await ask(url, "GET", "/v1/agents/agent-0", { key: apiKey })).body.version;
  const open = (path: string) =>
    new Promise<void>((resolve, reject) => {
      get(`${url}${path}`, { agent, headers: { authorization: `Bearer ${apiKey}` } }, (res) => {
        res.once("data", () => resolve());
        res.resume();
        streams.push(res);
        if (res.statusCode !== 200) reject(new Error(`${path}: ${res.statusCode}`));
      }).once("error", reject);
    });
  for (let at = 0; at < WATCHERS; at += 50)
    await Promise.all(
      Array.from({ length: Math.min(50, WATCHERS - at) }, (_, i) => {
        const n = at + i;
        if (n % 2) return open(`/v1/watch/agents?id=agent-${n % 40}&since=${since}&timeoutSeconds=3600`);
        return open(
          `/v1/watch?collections=agents,applications&view=summary&filter=agent=agent-${n % 40}&since=${since}&timeoutSeconds=3600`,
        );
      }),
    );
  await write();
  const idle = await cost(() => new Promise((resolve) => setTimeout(resolve, 5_000)));
  const watched = await cost(write);
  console.log(
    `processor time of a write: alone ${(alone.cpu / WRITES).toFixed(2)} ms, with ${WATCHERS} watchers ${(watched.cpu / WRITES).toFixed(2)} ms`,
  );
  console.log(`${WATCHERS} watchers while nothing happens: ${((idle.cpu / idle.ms) * 100).toFixed(1)} % of a core`);
  const atRest = (idle.cpu / idle.ms) * watched.ms;
  figure(`what ${WATCHERS} watchers add to a write`, (watched.cpu - alone.cpu - atRest) / WRITES, 3, "ms");
  for (const stream of streams) stream.destroy();
  agent.destroy();

  async function cost(work: () => Promise<unknown>): Promise<{ cpu: number; ms: number }> {
    const [before, started] = [cpuMs(child.pid!), performance.now()];
    await work();
    return { cpu: cpuMs(child.pid!) - before, ms: performance.now() - started };
  }
}

/** A warm start of the embedded store, in time and in processor time, which a busy machine does not lengthen. */
async function embedded(): Promise<void> {
  const service = await startService();
  try {
    await service.process.stop();
    const started = performance.now();
    await service.start();
    const ms = performance.now() - started;
    console.log(`embedded store, warm start to ready: ${(ms / 1_000).toFixed(2)} s`);
    figure("processor time of the start", cpuMs(service.process.child.pid!) / 1_000, 1.2, "s");
    const path = `${service.url}/v1/applications?filter=spec.argoProject=x`;
    const slow = Array.from({ length: 8 }, () =>
      fetch(path, { headers: { authorization: `Bearer ${service.apiKey}` } }),
    );
    const puts = await timed(
      (n) =>
        ask(service.url, "PUT", "/v1/organizations/o", {
          key: service.apiKey,
          body: { spec: { description: `${n}` } },
        }),
      20,
    );
    await Promise.all(slow);
    console.log(`a put while lists are read: p50 ${percentile(puts, 0.5).toFixed(1)} ms`);
    await until("the service to answer", async () => (await fetch(`${service.url}/readyz`)).ok, 10_000);
  } finally {
    await service.stop();
  }
}
