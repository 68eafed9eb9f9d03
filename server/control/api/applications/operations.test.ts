import { agentsOf } from "../../testing/agents.ts";
import { eventually, startService, type TestService } from "../../testing/service.ts";
import type { TestWorker } from "../../testing/worker.ts";

let s: TestService;
beforeAll(async () => {
  s = await startService();
}, 60_000);
afterAll(() => s?.stop());
const { put, agent } = agentsOf(() => s);

const source = { repoUrl: "https://h/x", path: "." };
/** An application that was delivered and of which the agent has told this status. */
async function application(id: string, status: object, syncPolicy?: object): Promise<TestWorker> {
  const w = await agent(`ag-${id}`);
  await put(`/v1/applications/${id}`, {
    agent: `ag-${id}`,
    destination: {},
    source,
    ...(syncPolicy ? { syncPolicy } : {}),
  });
  const { objects } = await w.exchange();
  await w.acknowledge(objects, status as Record<string, unknown>);
  return w;
}
const history = [
  { id: 3, revision: "c3", deployedAt: "2026-01-01T00:00:00Z", initiatedBy: "automated", cause: "Automated" },
  { id: 4, revision: "c4", deployedAt: "2026-01-02T00:00:00Z", initiatedBy: "key:admin", cause: "Manual" },
];
const post = (path: string, body: object) => s.ask("POST", path, { body });
/** Asks, answers as the agent would, and gives both sides. */
async function asked(w: TestWorker, asking: ReturnType<TestService["ask"]>, result: object) {
  const task = await eventually("the question", async () => (await w.exchange({ free: 5 })).tasks[0]);
  expect((await w.call(`tasks/${task.task}/result`, { fence: task.fence, ...result })).status).toBe(204);
  return { task, answer: await asking };
}

test("the history says who deployed and why", async () => {
  await application("hist", { history });
  expect((await s.ask("GET", "/v1/applications/hist/history")).body).toEqual({ items: history });
});

test("a rollback rides on the delivery, takes back a sync that waits, and is answered with the operation to look for", async () => {
  const w = await application("back", { history });
  await post("/v1/applications/back/sync", {});
  const accepted = await post("/v1/applications/back/rollback", { id: 3, prune: true });
  expect(accepted).toMatchObject({
    status: 202,
    body: {
      generation: 1,
      status: { operation: { id: expect.any(String), phase: "Pending", initiatedBy: "key:admin", cause: "Rollback" } },
    },
  });
  const [o] = (await w.exchange()).objects;
  expect(o!.action).toEqual({
    rollback: { id: accepted.body.status.operation.id, by: "key:admin", request: { id: 3, prune: true } },
  });
  const audit = (await s.ask("GET", "/v1/audit")).body.items as { operation: string; target: string }[];
  expect(audit).toContainEqual(
    expect.objectContaining({ operation: "rollbackApplication", target: "-/-/back", outcome: "accepted" }),
  );
});

test("a rollback is refused while automated sync is on, and of an entry that is not there; so is its dry run", async () => {
  const w = await application("auto", { history }, { automated: { prune: true } });
  for (const dryRun of [false, true])
    expect(await post("/v1/applications/auto/rollback", { id: 3, dryRun })).toMatchObject({
      status: 409,
      body: { code: "conflict", detail: expect.stringContaining("Automated sync is on") },
    });
  await put("/v1/applications/auto", {
    agent: "ag-auto",
    destination: {},
    source,
    syncPolicy: { automated: { enabled: false } },
  });
  expect(await post("/v1/applications/auto/rollback", { id: 9 })).toMatchObject({
    status: 422,
    body: { code: "invalid_field", pointer: "/id", detail: "The history has no entry 9. It has 3, 4." },
  });
  expect((await post("/v1/applications/auto/rollback", {})).status).toBe(400);
  expect((await post("/v1/applications/auto/rollback", { id: 4, dryRun: true })).status).toBe(202);
  expect((await w.exchange()).objects[0]!.action).toMatchObject({ rollback: { request: { id: 4, dryRun: true } } });
});

test("what runs can be ended; where nothing runs that is said", async () => {
  const w = await application("end", { history });
  expect(await post("/v1/applications/end/terminate", {})).toMatchObject({ status: 409, body: { code: "conflict" } });
  // Asked for and not yet told of: it is taken back.
  await post("/v1/applications/end/sync", {});
  expect((await post("/v1/applications/end/terminate", {})).status).toBe(202);
  const { objects } = await w.exchange();
  expect(objects[0]!.action).toEqual({ terminate: { id: expect.any(String), by: "key:admin" } });
  await w.acknowledge(objects, { operation: { phase: "Running", id: "other" } });
  expect((await post("/v1/applications/end/terminate", {})).status).toBe(202);
});

test("an action is asked once, in the caller's name, and leaves a line in the audit trail whatever comes of it", async () => {
  const w = await application("act", {});
  const resource = { group: "apps", kind: "Deployment", namespace: "web", name: "web" };
  const live = {
    live: { kind: "Deployment" },
    actions: [{ name: "restart" }, { name: "scale", parameters: [{ name: "replicas", default: "1" }] }],
  };
  const done = await asked(w, post("/v1/applications/act/actions", { resource, action: "restart" }), {
    outcome: "succeeded",
    outputs: live,
  });
  expect(done.task).toMatchObject({
    kind: "application.action",
    params: { key: "-/-/act", resource, action: "restart", by: "key:admin" },
  });
  expect(done.answer).toMatchObject({ status: 200, body: live });
  const rows = await s.db.query("select idempotent, max_attempts from tasks where kind = 'application.action'");
  expect(rows[0]).toMatchObject({ idempotent: false, max_attempts: 1 });
  const refused = await asked(w, post("/v1/applications/act/actions", { resource, action: "fly" }), {
    outcome: "failed",
    reason: "NotPermitted",
    message: "resource apps:Deployment is not permitted in project p",
  });
  expect(refused.answer).toMatchObject({
    status: 422,
    body: { code: "agent_refused", detail: expect.stringContaining("not permitted") },
  });
  const audit = (await s.ask("GET", "/v1/audit")).body.items as { operation: string; outcome: string }[];
  const lines = audit.filter(({ operation }) => operation === "runApplicationAction");
  expect(lines.map(({ outcome }) => outcome)).toEqual(["refused", "accepted", "accepted"]);
});

const tree = {
  nodes: [{ version: "v1", kind: "Pod", name: "p", parents: ["u"], info: [{ name: "ready", value: "1/1" }] }],
  truncated: true,
};
test.each<[string, string, object, object]>([
  ["tree", "application.tree", {}, tree],
  [
    "resource?kind=Pod&name=p&namespace=n",
    "application.resource",
    { resource: { kind: "Pod", name: "p", namespace: "n" } },
    { live: {}, actions: [] },
  ],
  [
    "revision?revision=v1&source=2",
    "application.revision",
    { revision: "v1", source: 2 },
    { revision: "c", signature: "Good" },
  ],
  ["revision", "application.revision", { source: 0 }, { revision: "c" }],
  [
    "manifests?revision=v2",
    "application.manifests",
    { revision: "v2" },
    { revision: "c", revisions: ["c", "d"], manifests: [] },
  ],
  [
    "diff",
    "application.diff",
    {},
    {
      items: [
        { kind: "ConfigMap", name: "a", change: "update", fields: [{ path: "/data/a", manager: "kubectl-edit" }] },
      ],
    },
  ],
])("%s is the agent's answer", async (path, kind, params, outputs) => {
  const id = `read-${path.replace(/\W.*/, "")}-${Math.abs(path.length)}`;
  const w = await application(id, {});
  const { task, answer } = await asked(w, s.ask("GET", `/v1/applications/${id}/${path}`), {
    outcome: "succeeded",
    outputs,
  });
  expect(task).toMatchObject({ kind, params });
  expect(answer).toMatchObject({ status: 200, body: outputs });
  // An answer of another shape is never handed on.
  const odd = await asked(w, s.ask("GET", `/v1/applications/${id}/${path}`), {
    outcome: "succeeded",
    outputs: { odd: 1 },
  });
  expect(odd.answer).toMatchObject({
    status: 422,
    body: { code: "agent_refused", detail: expect.stringContaining("does not fit") },
  });
});

test("charts of a repository, and what a set would make, are the agent's answers too", async () => {
  const w = await agent("charts");
  await put("/v1/repositories/charts", { agent: "charts", url: "https://h/charts", type: "helm" });
  const items = [{ name: "web", versions: ["2.0.0", "1.0.0"] }];
  const charts = await asked(w, s.ask("GET", "/v1/repositories/charts/charts"), {
    outcome: "succeeded",
    outputs: { items },
  });
  expect(charts.task.kind).toBe("repository.charts");
  expect(charts.answer).toMatchObject({ status: 200, body: { items } });
  await put("/v1/applicationsets/set", {
    agent: "charts",
    generators: [{ list: { elements: [{ name: "a" }] } }],
    template: {
      metadata: { name: "{{ .name }}" },
      spec: { destination: {}, project: "default", source: { repoURL: "https://h/x", path: "." } },
    },
  });
  const made = [{ metadata: { name: "a" }, spec: {} }];
  const set = await asked(w, s.ask("GET", "/v1/applicationsets/set/generate"), {
    outcome: "succeeded",
    outputs: { items: made },
  });
  expect(set.task).toMatchObject({
    kind: "applicationset.generate",
    params: { collection: "applicationsets", name: "set" },
  });
  expect(set.answer).toMatchObject({ status: 200, body: { items: made } });
});
