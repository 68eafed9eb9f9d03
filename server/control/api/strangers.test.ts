import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { within } from "../../../test/within.ts";
import { agentsOf } from "../testing/agents.ts";
import { SORTS } from "../testing/floods.ts";
import { eventually, startService, type TestService } from "../testing/service.ts";
import { TestWorker } from "../testing/worker.ts";

let s: TestService;
let writes = 0;
beforeAll(async () => {
  s = await startService();
  const { db } = s;
  const transaction = db.transaction.bind(db);
  db.transaction = (work, options) => {
    writes++;
    return transaction(work, options);
  };
}, 60_000);
afterAll(() => s?.stop());
const { put, tokenOf } = agentsOf(() => s);

const FLOOD = fileURLToPath(new URL("../testing/flood.mjs", import.meta.url));
const CONNECTIONS = 520;
const PER_SECOND = 250;
/** On a machine that does other work the p99 of three seconds is mostly that work; what is truly taken is printed, and measured in test/scale. */
const PATIENT_MS = 2_000;

/** The p99 of honest requests over a while, in milliseconds, and every status that was not 200. */
async function honest(forMs: number): Promise<{ p99: number; refused: number[] }> {
  const times: number[] = [];
  const refused: number[] = [];
  const ends = performance.now() + forMs;
  while (performance.now() < ends) {
    const started = performance.now();
    const { status } = await s.ask("GET", "/v1/agents");
    times.push(performance.now() - started);
    if (status !== 200) refused.push(status);
  }
  times.sort((a, b) => a - b);
  return { p99: times[Math.floor(times.length * 0.99)]!, refused };
}

const auditRows = async () => (await s.db.query("select count(*)::int n from audit"))[0]!.n;
const nonces = async () => (await s.db.query("select count(*)::int n from nonces"))[0]!.n;

test.each(SORTS)(
  "hostile connections: %s. Callers with a key notice nothing, no row is written, no lock is taken",
  async (sort) => {
    let value = "";
    if (sort.includes("known token")) {
      await put("/v1/agents/flooded", {});
      value = /^ot1_([^_]+)_/.exec(await tokenOf("flooded"))![1]!;
    }
    if (sort === "half-sent calls of a webhook") {
      await put("/v1/webhooks/flooded", { provider: "generic" });
      value = new URL((await s.ask("GET", "/v1/webhooks/flooded")).body.status.url).pathname;
    }
    await honest(300);
    const calm = await honest(700);
    const before = [await auditRows(), await nonces()];
    const child = spawn(process.execPath, [FLOOD, s.url, sort, String(CONNECTIONS), String(PER_SECOND), value], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    const said: string[] = [];
    child.stdout.on("data", (chunk: Buffer) => said.push(chunk.toString()));
    await eventually("the flood begins", async () => said.length > 0);
    const transactionsBefore = writes;
    const flooded = await honest(2_000);
    const taken = writes - transactionsBefore;
    child.stdin.end();
    await once(child, "exit");
    const begun = Number(said.join("").trim().split("\n").at(-1));
    process.stdout.write(
      `${sort}: ${begun} hostile requests, p99 ${calm.p99.toFixed(1)} → ${flooded.p99.toFixed(1)} ms, transactions ${taken}\n`,
    );
    expect(begun).toBeGreaterThan(PER_SECOND);
    expect(flooded.refused).toEqual([]);
    expect([await auditRows(), await nonces()]).toEqual(before);
    // The sweeper's transactions each second, and nothing near one for each hostile request.
    expect(taken).toBeLessThan(begun / 10);
    expect(flooded.p99).toBeLessThan(Math.max(within(1.2 * calm.p99), PATIENT_MS));
  },
  120_000,
);

test("an honest worker enrols and opens a session while half-sent enrolments of others stand open", async () => {
  await put("/v1/agents/honest", {});
  const token = await tokenOf("honest");
  const child = spawn(process.execPath, [FLOOD, s.url, "half-sent enrolments", "300", "60"], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  try {
    await eventually("bodies of strangers are read", async () => s.running.services.strangers.bodies.reading > 50);
    const worker = await new TestWorker(s.url, "i-1", "cluster").enrol(token);
    await worker.open();
    expect(worker.session).toMatch(/^ows_/);
  } finally {
    child.stdin.end();
    await once(child, "exit");
  }
}, 120_000);

test("half-sent enrolments end by their deadline, and leave nothing behind", async () => {
  await eventually(
    "no body of a stranger is read any more",
    async () => s.running.services.strangers.bodies.reading === 0,
  );
  await eventually("no connection lingers", async () => s.running.services.strangers.lingering.taken === 0);
}, 120_000);

test("a refused real token is audited, but not without bound; an unknown one and a forged proof never are", async () => {
  await put("/v1/agents/revoked", {});
  const token = await tokenOf("revoked");
  const [item] = (await s.ask("GET", "/v1/agents/revoked/tokens")).body.items;
  await s.ask("DELETE", `/v1/agents/revoked/tokens/${item.id}`);
  const before = await auditRows();
  for (let i = 0; i < 30; i++) expect((await new TestWorker(s.url).tryEnrol(token)).status).toBe(401);
  expect((await auditRows()) - before).toBe(10);
  const unknown = token.replace(/default-[0-9a-f]+/, "default-0000000000000000");
  const forged = token.replace(/_[A-Za-z0-9_-]{43}_/, `_${"A".repeat(43)}_`);
  for (const text of [unknown, forged]) expect((await new TestWorker(s.url).tryEnrol(text)).status).toBe(401);
  expect((await auditRows()) - before).toBe(10);
  expect((await s.ask("GET", "/metrics")).text).toMatch(/outpost_strangers_refused_total\{why="proof"\} [1-9]/);
}, 60_000);
