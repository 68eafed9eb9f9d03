import { agentsOf } from "../testing/agents.ts";
import { startService, type TestService } from "../testing/service.ts";
import type { TestWorker } from "../testing/worker.ts";

// Guarantee 19 at the service's end of the link: what a worker reports stops neither the reports of others nor its own session.
const APPS = 40;
const ROUNDS = 30;
let s: TestService;
let w: TestWorker;
let uids: string[];
beforeAll(async () => {
  s = await startService();
  const { put, agent } = agentsOf(() => s);
  w = await agent("one");
  const source = { repoUrl: "https://git.example/a.git", path: "." };
  const made = await Promise.all(
    Array.from({ length: APPS }, (_, i) => put(`/v1/applications/a${i}`, { agent: "one", destination: {}, source })),
  );
  uids = made.map(({ body }) => body.uid);
  await w.acknowledge((await w.exchange()).objects);
}, 60_000);
afterAll(() => s?.stop());

let revision = 0;
const of = (i: number, status: Record<string, unknown>, more: object = {}) => ({
  collection: "applications" as const,
  key: `-/-/a${i}`,
  uid: uids[i]!,
  revision: ++revision,
  status,
  ...more,
});
const statusOf = async (i: number) => (await s.ask("GET", `/v1/applications/a${i}`)).body.status;
const raw = (text: string | Uint8Array) => s.ask("POST", "/v1/worker/exchange", { key: w.session, raw: text });
const exchangeOf = (reports: string) => `{"wait":0,"free":0,"reports":[${reports}]}`;
const well = (message: string) => ({ health: { status: "Healthy", message } });

test.each<[string, () => object]>([
  ["lists that are texts", () => of(0, { resources: "x", conditions: 3, history: {} })],
  ["objects that are none", () => of(0, { sync: [], health: "x", operation: 7 })],
  ["rows of another shape", () => of(0, { resources: [null, 7, { kind: [] }], history: [[]] })],
  [
    "times that are none",
    () => of(0, { reconciledAt: "soon", conditions: [{ type: "a", lastTransitionTime: "2026-13-45T99:00:00Z" }] }),
  ],
  ["fields nobody knows", () => of(0, Object.fromEntries(Array.from({ length: 2_000 }, (_, i) => [`f${i}`, i])))],
  ["fields by the names of methods", () => of(0, { constructor: 1, toString: 2, hasOwnProperty: 3, valueOf: null })],
  ["what only the service writes", () => of(0, { delivery: { state: "Refused" }, reportedAt: "2001-01-01T00:00:00Z" })],
  ["a revision beyond all numbers", () => of(0, {}, { revision: 2 ** 60 })],
  ["a generation beyond all numbers", () => of(0, {}, { generation: 2 ** 60, outcome: "applied" })],
  ["an object that is nobody's", () => of(0, {}, { uid: "no-such", key: "../../x" })],
  ["another collection than its own", () => of(0, { health: { status: "x" } }, { collection: "clusters" })],
])("a report with %s: the one before and the one after it are taken", async (name, make) => {
  await w.exchange({ reports: [of(1, well(`before ${name}`)), make() as never, of(2, well(`after ${name}`))] });
  expect([(await statusOf(1)).health.message, (await statusOf(2)).health.message]).toEqual([
    `before ${name}`,
    `after ${name}`,
  ]);
  expect((await statusOf(0)).delivery).toEqual({ state: "Delivered" });
});

test.each<[string, () => string, string]>([
  ["an unknown collection", () => JSON.stringify(of(0, {}, { collection: "secrets" })), "invalid_request"],
  ["a status that is a text", () => JSON.stringify(of(0, "x" as never)), "invalid_request"],
  ["a uid that is a number", () => JSON.stringify(of(0, {}, { uid: 7 })), "invalid_request"],
  ["nothing", () => "null", "invalid_request"],
  ["a text that no store takes", () => JSON.stringify(of(0, { health: { message: "a\0b" } })), "invalid_request"],
  ["half a character", () => JSON.stringify(of(0, { health: { message: "\ud800" } })), "invalid_request"],
  [
    "65 levels",
    () => JSON.stringify(of(0, {})).replace('"status":{}', `"status":${'{"a":'.repeat(65)}1${"}".repeat(65)}`),
    "invalid_request",
  ],
  [
    "a prototype",
    () => JSON.stringify(of(0, {})).replace('"status":{}', '"status":{"__proto__":{"a":1}}'),
    "invalid_request",
  ],
  ["no end", () => '{"uid":"', "invalid_json"],
])("a body with %s is refused with a reason, and the session goes on", async (name, make, code) => {
  const answer = await raw(exchangeOf(make()));
  expect([answer.status, answer.body.code]).toEqual([400, code]);
  await w.exchange({ reports: [of(3, well(name))] });
  expect((await statusOf(3)).health.message).toBe(name);
});

test("a body of 30 MB is refused before it is read, and the session goes on", async () => {
  const answer = await raw(new Uint8Array(30 * 1024 * 1024).fill(32)).catch((error: Error) => error);
  // The connection ends with the answer; who still writes may see only that.
  if (!(answer instanceof Error)) expect([answer.status, answer.body.code]).toEqual([413, "body_too_large"]);
  await w.exchange({ reports: [of(4, well("goes on"))] });
  expect((await statusOf(4)).health.message).toBe("goes on");
});

test("of thousands of reports in one exchange all but the poisoned one are taken", async () => {
  const poison = { health: 7, resources: { a: 1 }, sync: { status: "Exploded" } };
  const reports = Array.from({ length: ROUNDS }, (_, round) =>
    uids.flatMap((_, i) => [...(i === 0 && round === 20 ? [of(0, poison)] : []), of(i, well(`round ${round}`))]),
  ).flat();
  await w.exchange({ reports });
  const { items } = (await s.ask("GET", "/v1/applications?limit=100")).body;
  expect(items.map((app: { status: { health?: { message?: string } } }) => app.status.health?.message)).toEqual(
    uids.map(() => `round ${ROUNDS - 1}`),
  );
}, 30_000);
