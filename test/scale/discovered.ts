/**
 * Objects that an agent finds: how long the service takes for a first complete round, for one without a change and for one change, and what
 * people's writes wait meanwhile. The service is a process of its own. The floor is the same rows, inserted into a bare table of an embedded
 * store in transactions of the same size.
 *
 * With `cuts` the first round is cut off three times: the connection is cut, the service is killed, and the database is killed (with
 * PostgreSQL; the embedded store dies with the service). What was taken in before must be there afterwards, with its uid and its version.
 *
 *   npm run build && node --import tsx test/scale/discovered.ts [objects, 2000 unless told] [postgres] [cuts]
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { PGlite } from "@electric-sql/pglite";
import { app, listed } from "../../server/control/testing/discovered.ts";
import { ask } from "../../server/control/testing/service.ts";
import { TestWorker } from "../../server/control/testing/worker.ts";
import { startService } from "../faults/link-world.ts";
import { startGate } from "../servers/gate.ts";
import { startPostgres } from "../servers/postgres.ts";
import { until } from "../servers/run.ts";

const [count = "2000", ...options] = process.argv.slice(2);
const COUNT = Number(count);
const CUTS = options.includes("cuts");
/** As the agent sends them. */
const REPORTS = 500;
/** As the service takes them into one transaction. */
const BATCH = 25;
const names = Array.from({ length: COUNT }, (_, i) => `found-${i}`);

const postgres = options.includes("postgres")
  ? await startPostgres({ durable: true, settings: { shared_buffers: "256MB" } })
  : undefined;
const s = await startService(postgres ? { DATABASE_URL: (await postgres.database()).url } : {});
const gate = await startGate(s.port);
try {
  const call = (method: string, path: string, body?: object) =>
    ask(s.url, method, path, { key: s.apiKey, ...(body ? { body } : {}) });
  await call("PUT", "/v1/agents/many", { spec: {} });
  const { token } = (await call("POST", "/v1/agents/many/tokens", {})).body;
  const worker = await (
    await new TestWorker(`http://127.0.0.1:${gate.port}`, "many-0", "cluster-of-many").enrol(token)
  ).open();
  const floor = CUTS ? Number.NaN : await seconds(bare);
  const waits: number[] = [];
  let kept = new Map<string, string>();
  let done = false;
  const people = (async () => {
    for (let i = 0; !done; i++) {
      const started = performance.now();
      const put = await call("PUT", `/v1/organizations/o-${i % 5}`, { spec: { description: `${i}` } }).catch(
        () => undefined,
      );
      // A put that a cut took away is none; one that is refused would measure nothing.
      if (put && put.status >= 400 && put.status < 500) throw new Error(put.text);
      if (put && put.status < 300) waits.push(performance.now() - started);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  })();
  if (CUTS) {
    await cutOff("the connection", 0.2, async () => {
      gate.shut();
      gate.open();
    });
    await cutOff("the service", 0.4, async () => {
      await s.kill();
      await s.start();
    });
    if (postgres)
      await cutOff("the database", 0.6, async () => {
        await postgres.kill();
        await postgres.start();
      });
  }
  const rest = COUNT - (await shownCount());
  const first = await seconds(() => round(1));
  done = true;
  await people;
  const complete = await versions();
  if (complete.size !== COUNT || changed(kept, complete) > 0)
    throw new Error("the complete round lost objects or wrote them again");
  const version = async () => (await call("GET", "/v1/applications/found-0")).body.version;
  const before = await version();
  const again = await seconds(() => round(2));
  if ((await version()) !== before) throw new Error("a round without a change has written");
  const change = await seconds(() =>
    worker.exchange({ discovered: [app("found-0", { status: { sync: { status: "OutOfSync" } } })] }),
  );
  const shown = (await call("GET", "/v1/agents/many")).body.status.discovered;
  waits.sort((a, b) => a - b);
  const at = (share: number) => waits[Math.floor(waits.length * share)]!.toFixed(0);
  console.log(
    `first round of ${COUNT}${rest < COUNT ? ` of which ${rest} were left` : ""}: ${first.toFixed(1)} s, ${((first / COUNT) * 1_000).toFixed(1)} ms each; ${shown} shown` +
      `${CUTS ? "" : `; ${(first / floor).toFixed(1)} × bare inserts (${floor.toFixed(1)} s)`}\n` +
      `a put of a person meanwhile: p50 ${at(0.5)}, p99 ${at(0.99)} ms (${waits.length})\n` +
      `a round without a change: ${again.toFixed(1)} s, nothing written; one change: ${(change * 1_000).toFixed(0)} ms\n` +
      `resident memory of the service ${residentMib(s.process.child.pid!)} MiB, load ${loadavg()[0]!.toFixed(1)}`,
  );

  /** Cuts off a round in the middle of a report, when so many are shown. What was taken in must be as it was when the agent is back. */
  async function cutOff(what: string, share: number, cut: () => Promise<void>): Promise<void> {
    const reporting = round(1).then(
      () => "went through",
      () => "was cut off",
    );
    await until(`${share} of the objects`, async () => (await shownCount()) >= COUNT * share, 600_000);
    const before = await versions();
    const back = await seconds(async () => {
      await cut();
      await until("the agent to be back", () => worker.open().catch(() => undefined), 120_000);
    });
    const end = await reporting;
    const after = await versions();
    const lost = changed(before, after);
    console.log(
      `${what} cut at ${before.size}: the round ${end}; back after ${back.toFixed(1)} s with ${after.size} shown, ${lost} lost or changed`,
    );
    if (lost > 0 || after.size < before.size) throw new Error("objects were lost or written again");
    kept = after;
  }
  async function shownCount(): Promise<number> {
    return (await call("GET", "/v1/agents/many").catch(() => undefined))?.body.status?.discovered ?? 0;
  }
  async function versions(): Promise<Map<string, string>> {
    const all = new Map<string, string>();
    for (let page = ""; ; ) {
      const { body } = await call("GET", `/v1/applications?limit=500${page}`);
      for (const { uid, version } of body.items) all.set(uid, version);
      if (!body.nextCursor) return all;
      page = `&cursor=${encodeURIComponent(body.nextCursor)}`;
    }
  }
  async function round(number: number): Promise<void> {
    for (let i = 0; i < COUNT; i += REPORTS)
      await worker.exchange({ discovered: names.slice(i, i + REPORTS).map((name) => app(name, { round: number })) });
    await worker.exchange({ listed: [listed(number, COUNT)] });
  }
} finally {
  await gate.stop();
  await s.stop();
  await postgres?.stop();
}

/** How many objects of one look are gone, or written since, in a later one. */
function changed(before: Map<string, string>, after: Map<string, string>): number {
  return [...before].filter(([uid, version]) => after.get(uid) !== version).length;
}

async function bare(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "outpost-bare-"));
  const db = new PGlite(folder);
  await db.exec("create table bare (id text primary key, spec jsonb, status jsonb)");
  for (let i = 0; i < COUNT; i += BATCH)
    await db.transaction(async (tx) => {
      for (const name of names.slice(i, i + BATCH)) {
        const { spec, status } = app(name);
        await tx.query("insert into bare values ($1, $2, $3)", [name, JSON.stringify(spec), JSON.stringify(status)]);
      }
    });
  await db.close();
  rmSync(folder, { recursive: true });
}

/** Of the program and its children; setpriv is replaced by it. */
function residentMib(pid: number): string {
  const [, kib] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return (Number(kib) / 1_024).toFixed(0);
}

async function seconds(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return (performance.now() - started) / 1_000;
}
