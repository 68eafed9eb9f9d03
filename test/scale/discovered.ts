/**
 * Objects that an agent finds: how long the service takes for a first complete round, for one without a change and for one change, and what
 * people's writes wait meanwhile. The service is a process of its own, on the embedded store. The floor is the same rows, inserted into a bare
 * table of such a store in transactions of the same size.
 *
 *   npm run build && node --import tsx test/scale/discovered.ts [objects, 2000 unless told]
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { PGlite } from "@electric-sql/pglite";
import { app, listed } from "../../server/control/testing/discovered.ts";
import { ask } from "../../server/control/testing/service.ts";
import { TestWorker } from "../../server/control/testing/worker.ts";
import { startService } from "../faults/link-world.ts";

const COUNT = Number(process.argv[2] ?? 2_000);
/** As the agent sends them. */
const REPORTS = 500;
/** As the service takes them into one transaction. */
const BATCH = 25;
const names = Array.from({ length: COUNT }, (_, i) => `found-${i}`);

const s = await startService();
try {
  const call = (method: string, path: string, body?: object) => ask(s.url, method, path, { key: s.apiKey, ...(body ? { body } : {}) });
  await call("PUT", "/v1/agents/many", { spec: {} });
  const { token } = (await call("POST", "/v1/agents/many/tokens", {})).body;
  const worker = await (await new TestWorker(s.url, "many-0", "cluster-of-many").enrol(token)).open();
  const floor = await seconds(bare);
  const waits: number[] = [];
  let done = false;
  const people = (async () => {
    for (let i = 0; !done; i++) {
      const started = performance.now();
      await call("PUT", `/v1/organizations/o-${i % 5}`, { spec: { displayName: `${i}` } });
      waits.push(performance.now() - started);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  })();
  const first = await seconds(() => round(1));
  done = true;
  await people;
  const version = async () => (await call("GET", "/v1/applications/found-0")).body.version;
  const before = await version();
  const again = await seconds(() => round(2));
  if ((await version()) !== before) throw new Error("a round without a change has written");
  const change = await seconds(() => worker.exchange({ discovered: [app("found-0", { status: { sync: { status: "OutOfSync" } } })] }));
  const shown = (await call("GET", "/v1/agents/many")).body.status.discovered;
  waits.sort((a, b) => a - b);
  const at = (share: number) => waits[Math.floor(waits.length * share)]!.toFixed(0);
  console.log(
    `first round of ${COUNT}: ${first.toFixed(1)} s, ${(first / floor).toFixed(1)} × bare inserts (${floor.toFixed(1)} s), ${((first / COUNT) * 1_000).toFixed(1)} ms each; ${shown} shown\n` +
      `a put of a person meanwhile: p50 ${at(0.5)}, p99 ${at(0.99)} ms (${waits.length})\n` +
      `a round without a change: ${again.toFixed(1)} s, nothing written; one change: ${(change * 1_000).toFixed(0)} ms\n` +
      `resident memory of the service ${residentMib(s.process.child.pid!)} MiB, load ${loadavg()[0]!.toFixed(1)}`,
  );

  async function round(number: number): Promise<void> {
    for (let i = 0; i < COUNT; i += REPORTS)
      await worker.exchange({ discovered: names.slice(i, i + REPORTS).map((name) => app(name, { round: number })) });
    await worker.exchange({ listed: [listed(number, COUNT)] });
  }
} finally {
  await s.stop();
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
