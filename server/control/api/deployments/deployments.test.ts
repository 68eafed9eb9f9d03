import { trimAll } from "../../sweeper.ts";
import { agentsOf } from "../../testing/agents.ts";
import { app as found } from "../../testing/discovered.ts";
import { startService, type TestService } from "../../testing/service.ts";
import type { TestWorker } from "../../testing/worker.ts";

let s: TestService;
beforeAll(async () => {
  s = await startService();
  for (const org of ["shop", "bank"]) await put(`/v1/organizations/${org}`, {});
  await put("/v1/environments/live", { type: "production" });
  await put("/v1/environments/dev", { type: "pre-production", name: "Development" });
}, 60_000);
afterAll(() => s?.stop());
const { put, agent } = agentsOf(() => s);
const get = async (path: string, key?: string) => (await s.ask("GET", path, key ? { key } : {})).body;

const at = (minute: number) => `2026-01-01T00:${String(minute).padStart(2, "0")}:00.000Z`;
const entry = (id: number, more: object = {}) => ({
  ...{ id, deployStartedAt: at(id), deployedAt: at(id + 1), revision: `r${id}`, images: [`web:${id}`] },
  ...{ initiatedBy: "automated", cause: "Automated" },
  ...more,
});
const spec = (of: string, more: object = {}) => ({
  agent: of,
  destination: { namespace: "web" },
  source: { repoUrl: "https://h/x", path: "." },
  ...more,
});

/** An application of a service in an environment, with the agent that has it. */
async function application(
  id: string,
  { status = {}, environment = "live" }: { status?: object; environment?: string },
) {
  const w = await agent(`ag-${id}`);
  await put(`/v1/services/${id}`, { type: "api", owner: "team" });
  await put(`/v1/applications/${id}`, spec(`ag-${id}`, { service: id, environment }));
  const { objects } = await w.exchange();
  await w.acknowledge(objects, status as Record<string, unknown>);
  const report = (next: object) => w.acknowledge(objects, next as Record<string, unknown>);
  return { w, report };
}

test("each finished sync is in the history once, with who, why and what", async () => {
  const { report } = await application("cart", { status: { history: [entry(1)] } });
  const operation = {
    phase: "Failed",
    startedAt: at(5),
    finishedAt: at(6),
    message: "no",
    initiatedBy: "eve",
    cause: "Manual",
  };
  await report({ history: [entry(1), entry(3)], operation });
  // The same again, as after an answer that got lost.
  await report({ history: [entry(1), entry(3)], operation: { ...operation, message: "no!" } });
  const { items } = await get("/v1/deployments?service=cart");
  expect(items).toMatchObject([
    { outcome: "Failed", message: "no", initiatedBy: "eve", startedAt: at(5) },
    { revision: "r3", outcome: "Succeeded", images: ["web:3"], historyId: 3, cause: "Automated" },
    {
      revision: "r1",
      service: { id: "cart" },
      environment: { id: "live" },
      agent: "ag-cart",
      namespace: "web",
      startedAt: at(1),
      finishedAt: at(2),
    },
  ]);
  expect(await get(`/v1/deployments/${items[1].id}`)).toEqual(items[1]);
  const ids = async (query: string) => (await get(`/v1/deployments?${query}`)).items.map((o: any) => o.startedAt);
  expect(await ids("service=cart&outcome=Failed")).toEqual([at(5)]);
  expect(await ids("application=cart&environment=dev")).toEqual([]);
  expect(await ids("service=nothing.here&limit=1").catch(() => "refused")).not.toContain(at(5));
});

test("pages of the history are of one piece", async () => {
  await application("pages", { status: { history: [entry(1), entry(3), entry(5), entry(7), entry(9)] } });
  const starts: string[] = [];
  for (let cursor = ""; ; ) {
    const page = await get(`/v1/deployments?service=pages&limit=2${cursor && `&cursor=${cursor}`}`);
    starts.push(...page.items.map((o: any) => o.startedAt));
    if (!page.nextCursor) break;
    cursor = page.nextCursor;
  }
  expect(starts).toEqual([at(9), at(7), at(5), at(3), at(1)]);
});

test("the history outlives the application's own, and the application", async () => {
  const { w, report } = await application("old", { status: { history: [entry(1), entry(3)] } });
  await report({ history: [entry(3), entry(5)] });
  expect((await get("/v1/deployments?service=old")).items).toHaveLength(3);
  await s.ask("DELETE", "/v1/applications/old?force=true");
  expect((await s.ask("DELETE", "/v1/services/old")).status).toBe(204);
  expect((await get("/v1/deployments?application=old")).items).toHaveLength(3);
  await w.exchange();
});

test("what is recorded too long ago is forgotten, and of one application 1000 are kept", async () => {
  const many = Array.from({ length: 100 }, (_, n) =>
    entry(1, {
      id: n,
      deployStartedAt: `2026-02-01T00:00:${String(n % 60).padStart(2, "0")}.${String(n).padStart(3, "0")}Z`,
    }),
  );
  await application("many", { status: { history: many } });
  expect((await get("/v1/deployments?service=many&limit=500")).items).toHaveLength(100);
  await s.db.query(
    "update deployments set recorded_at = now() - interval '500 days' where application = 'many' and history_id < 40",
  );
  await trimAll(s.running.services);
  expect((await get("/v1/deployments?service=many&limit=500")).items).toHaveLength(60);
});

test("applications without a service or an environment have no history here", async () => {
  const w = await agent("plain");
  await put("/v1/applications/plain", spec("plain", { environment: "live" }));
  await w.acknowledge((await w.exchange()).objects, { history: [entry(1)] });
  expect((await get("/v1/deployments?application=plain")).items).toEqual([]);
});

test("discovered applications are counted by their labels", async () => {
  const w: TestWorker = await agent("finds");
  const labels = { "harness.io/serviceRef": "legacy", "harness.io/envRef": "live" };
  const report = (history: object[]) =>
    found("legacy", {
      labels,
      status: { sync: { status: "Synced", revision: "r1" }, health: { status: "Healthy" }, history } as never,
    });
  await w.exchange({ discovered: [report([entry(1)])] });
  await w.exchange({ discovered: [report([entry(1), entry(3)])] });
  expect((await get("/v1/deployments?service=legacy")).items).toMatchObject([{ historyId: 3 }, { historyId: 1 }]);
  const { items } = await get("/v1/matrix?filter=agent=finds");
  // Only a label names this service: nothing more is known of it.
  expect(items).toEqual([
    {
      service: { id: "legacy" },
      cells: [expect.objectContaining({ environment: { id: "live" }, count: 1, revision: "r1" })],
    },
  ]);
});

test("a rollback goes by the application's own history, as long as that has the entry", async () => {
  const { w, report } = await application("back", { status: { history: [entry(1), entry(3)] } });
  await report({ history: [entry(3), entry(5)] });
  const { items } = await get("/v1/deployments?service=back");
  const asked = await s.ask("POST", `/v1/deployments/${items[1].id}/rollback`, { body: { prune: true } });
  expect(asked).toMatchObject({ status: 202, body: { id: "back", status: { operation: { cause: "Rollback" } } } });
  expect((await w.exchange()).objects[0]!.action).toMatchObject({ rollback: { request: { id: 3, prune: true } } });
  expect(await s.ask("POST", `/v1/deployments/${items[2].id}/rollback`, { body: {} })).toMatchObject({
    status: 409,
    body: {
      code: "conflict",
      detail: expect.stringMatching(/no longer has this deployment.*revisionHistoryLimit` is 10.*`revision` r1/),
    },
  });
  expect((await s.ask("POST", "/v1/deployments/none/rollback", { body: {} })).status).toBe(404);
});

test("a rollback that is sent again gets its first answer, also when the history has moved on", async () => {
  const { report } = await application("again", { status: { history: [entry(1), entry(3)] } });
  const { items } = await get("/v1/deployments?service=again");
  const send = () =>
    s.ask("POST", `/v1/deployments/${items[1].id}/rollback`, { body: {}, headers: { "Idempotency-Key": "again-1" } });
  const first = await send();
  expect(first.status).toBe(202);
  // The rollback itself is an entry: the oldest, which it went back to, has gone.
  await report({ history: [entry(3), entry(5)] });
  expect(await send()).toMatchObject({ status: 202, body: first.body });
});

test("what an agent says in any shape is taken, and a long text is cut", async () => {
  const { report } = await application("odd", {});
  const long = `${"x".repeat(999)}🙂${"y".repeat(5_000)}`;
  const operation = {
    phase: "Failed",
    startedAt: at(1),
    finishedAt: at(2),
    message: long,
    initiatedBy: `${"z".repeat(255)}🙂`,
  };
  await report({ history: [entry(7, { id: 4e9, deployStartedAt: "0001-01-01T00:00:00Z" })], operation });
  const { items } = await get("/v1/deployments?service=odd");
  expect(items).toMatchObject([{ startedAt: at(1), outcome: "Failed", message: expect.stringMatching(/^x{999}$/) }]);
});

test("an entry of another application with the same id is not taken for the old one", async () => {
  const { report } = await application("twice", { status: { history: [entry(1)] } });
  const { items } = await get("/v1/deployments?service=twice");
  await report({ history: [entry(1, { deployStartedAt: at(30), deployedAt: at(31) })] });
  expect((await s.ask("POST", `/v1/deployments/${items[0].id}/rollback`, { body: {} })).status).toBe(409);
});

test("keys of one organization see its deployments and matrix alone", async () => {
  const { key } = await (await s.ask("POST", "/v1/apikeys?org=bank", { body: { id: "bank", role: "admin" } })).body;
  const { items } = await get("/v1/deployments?inherited=true");
  expect(items.length).toBeGreaterThan(5);
  expect((await get("/v1/deployments?org=bank&inherited=true", key)).items).toEqual([]);
  for (const path of [
    `/v1/deployments/${items[0].id}?org=bank`,
    `/v1/deployments/${items[0].id}`,
    "/v1/matrix",
    "/v1/deployments",
  ])
    expect((await s.ask("GET", path, { key })).status).toBe(404);
});

test("a new organization with the id of a deleted one does not see its deployments", async () => {
  await put("/v1/organizations/gone", {});
  const w = await agent("ag-gone", "?org=gone");
  await put("/v1/services/pay?org=gone", {});
  await put("/v1/applications/pay?org=gone", spec("ag-gone", { service: "pay", environment: "account.live" }));
  await w.acknowledge((await w.exchange()).objects, { history: [entry(1)] });
  expect((await get("/v1/deployments?org=gone")).items).toHaveLength(1);
  for (const one of [
    "applications/pay?org=gone&force=true",
    "services/pay?org=gone",
    "agents/ag-gone?org=gone&force=true",
  ])
    expect((await s.ask("DELETE", `/v1/${one}`)).status).toBe(204);
  expect((await s.ask("DELETE", "/v1/organizations/gone")).status).toBe(204);
  await put("/v1/organizations/gone", {});
  expect((await get("/v1/deployments?org=gone")).items).toEqual([]);
});

test("deployments of a found application go with it into another scope", async () => {
  const w = await agent("moves");
  const labels = { "harness.io/serviceRef": "moving", "harness.io/envRef": "account.live" };
  const status = { sync: { status: "Synced", revision: "r1" }, history: [entry(1), entry(3)] } as never;
  await w.exchange({ discovered: [found("moving", { labels, argoProject: "moved", status })] });
  const { items } = await get("/v1/deployments?service=moving");
  expect(items).toHaveLength(2);
  await put("/v1/argoprojectmappings/moved", { agent: "moves", argoProject: "moved", targetOrg: "shop" });
  expect((await get("/v1/deployments?service=moving")).items).toEqual([]);
  expect((await get("/v1/deployments?org=shop&service=moving")).items).toEqual(
    items.map((one: object) => ({ ...one, org: "shop", service: { org: "shop", id: "moving" } })),
  );
});
