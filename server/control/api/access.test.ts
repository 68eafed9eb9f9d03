import { readFileSync } from "node:fs";
import { type OperationId, type OperationRow, operations } from "../../../openapi/contract/operations.ts";
import { delegatesOf } from "../testing/delegates.ts";
import { startService, type TestService } from "../testing/service.ts";
import { TestWorker } from "../testing/worker.ts";

/** The expectation: written by hand in access/matrix.txt, not derived from what it checks. */
const rows = readFileSync(new URL("../access/matrix.txt", import.meta.url), "utf8")
  .split("\n")
  .filter((line) => line && !line.startsWith("#"))
  .map((line) => line.split(/\s+/) as [OperationId, string, string | undefined]);
const expected = new Map(rows.map(([operation, access]) => [operation, access]));
const forTasks = new Set(rows.filter(([, , task]) => task === "task").map(([operation]) => operation));

const RANK: Record<string, number> = { any: 0, viewer: 1, editor: 2, admin: 3 };
const ROLES = ["viewer", "editor", "admin"] as const;
/** The keys are bound to organisation o1, so that there is a scope of each kind around them. */
const SCOPES = { own: "org=o1", above: "", beside: "org=o2", below: "org=o1&project=p1", nowhere: "org=nobody" };

let s: TestService;
const keys: Record<string, string> = {};
beforeAll(async () => {
  s = await startService();
  for (const org of ["o1", "o2"]) {
    await s.ask("PUT", `/v1/organizations/${org}`, { body: { spec: {} } });
    await s.ask("PUT", `/v1/projects/p1?org=${org}`, { body: { spec: {} } });
  }
  for (const role of ROLES)
    keys[role] = (await s.ask("POST", "/v1/apikeys?org=o1", { body: { id: role, role } })).body.key;
  await s.ask("PUT", "/v1/agents/w", { body: { spec: {} } });
  const { token } = (await s.ask("POST", "/v1/agents/w/tokens", { body: {} })).body;
  keys.worker = (await (await new TestWorker(s.url).enrol(token)).open()).session;
  const { replica, create, take } = delegatesOf(() => s);
  const delegate = await replica("d", { query: "?org=o1" });
  await create({}, "?org=o1");
  keys.task = (await take(delegate)).token!;
  // For the time of the test the lease does not run out.
  await s.db.query("update tasks set lease_expires_at = now() + interval '1 hour'");
  keys.forgedTask = keys.task.replace(/.$/, (last) => (last === "A" ? "B" : "A"));
  keys.forged = `opk_default_${"A".repeat(43)}`;
  const short = await s.ask("POST", "/v1/apikeys?org=o1", { body: { id: "old", role: "admin" } });
  keys.expired = short.body.key;
  await s.db.query("update api_keys set expires_at = now() - interval '1 second' where id = 'old'");
}, 60_000);
afterAll(() => s?.stop());

/** A valid request for an operation about something that is not there: what is let through ends in 404, 4xx of its own, or success. */
async function call(operation: OperationId, scope: string, key: string | undefined) {
  const row: OperationRow = operations[operation];
  const path = row.path.replace("{collection}", "agents").replace(/\{\w+\}/g, "missing");
  const own = row.collection === "projects" ? scope.replace(/&project=.*/, "") : scope;
  const scoped = row.scoped ? own : "";
  const query = [
    scoped,
    operation === "workerHello" ? "nonce=0123456789abcdef" : "",
    WATCHES.has(operation) ? "timeoutSeconds=1" : "",
    operation === "watchAll" ? "collections=agents,delegates" : "",
    operation === "getApplicationResource" ? "kind=ConfigMap&name=x" : "",
    operation === "putTaskArtifact" ? `fence=1&sha256=${"0".repeat(64)}` : "",
  ]
    .filter(Boolean)
    .join("&");
  const body =
    BODIES[operation] ??
    (row.method === "PUT" || row.method === "PATCH" ? { spec: SPECS[row.collection!] ?? {} } : undefined);
  // If-Match keeps a write that is let through from doing anything.
  const headers: Record<string, string> = row.method === "PUT" ? { "if-match": '"0"' } : {};
  if (operation === "putTaskArtifact") headers["content-type"] = "application/octet-stream";
  const abort = WATCHES.has(operation) ? AbortSignal.timeout(60_000) : undefined;
  return s.ask(row.method, `${path}${query && `?${query}`}`, {
    key,
    headers,
    ...(body === undefined ? {} : { body }),
    ...(abort ? { signal: abort } : {}),
  });
}
const WATCHES: ReadonlySet<OperationId> = new Set(["watch", "watchAll", "watchTasks"]);
const SPECS: Record<string, object> = {
  repositories: { agent: "account.w", url: "https://h/x" },
  clusters: { agent: "account.w", server: "https://h" },
  applications: { agent: "account.w", destination: {}, source: { repoUrl: "https://h/x", path: "." } },
  applicationsets: {
    agent: "account.w",
    generators: [{ list: { elements: [] } }],
    template: { metadata: { name: "x" }, spec: {} },
  },
  services: {},
  environments: { type: "production" },
  argoprojectmappings: { agent: "account.w", argoProject: "team" },
  appprojects: { agent: "account.w" },
  repositorycredentials: { agent: "account.w", url: "https://h/" },
  repositorycertificates: { agent: "account.w", host: "h", type: "ssh", data: "x" },
  gnupgkeys: {
    agent: "account.w",
    publicKey:
      "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nmDMEawJL7hYJKwYBBAHaRw8BAQdA\n-----END PGP PUBLIC KEY BLOCK-----",
  },
  webhooks: { provider: "github" },
  pipelines: { steps: [{ id: "a", task: { kind: "shell.run", params: { script: "true" } } }] },
};
const BODIES: Partial<Record<OperationId, object>> = {
  createApiKey: { id: "taken", role: "viewer" },
  createTask: { kind: "shell.run", params: {} },
  rollbackApplication: { id: 0 },
  runApplicationAction: { resource: { kind: "ConfigMap", name: "x" }, action: "restart" },
  putTaskArtifact: {},
  exchange: { wait: 0, free: 0 },
  heartbeat: { leases: [] },
  appendTaskLogs: { fence: 1, first: 1, lines: [] },
  completeTask: { fence: 1, outcome: "succeeded" },
  enrolWorker: { tokenId: "x", nonce: "x", signKey: "x", sealKey: "x", instance: "x", version: "x", proof: "x" },
  openSession: { worker: "x", nonce: "x", instance: "x", version: "x", signature: "x" },
};

test("every operation has exactly one row, and the contract says the same", () => {
  expect([...expected.keys()].sort()).toEqual(Object.keys(operations).sort());
  for (const [operation, access] of expected)
    expect(`${operation} ${operations[operation].access}`).toBe(`${operation} ${access}`);
  const marked = Object.entries(operations as Record<string, OperationRow>).filter(([, row]) => row.task);
  expect([...forTasks].sort()).toEqual(marked.map(([operation]) => operation).sort());
});

/** What a person with this role in o1 may expect of a scope: let through, 403 or 404. */
function want(operation: OperationId, role: (typeof ROLES)[number], scope: keyof typeof SCOPES): "through" | 403 | 404 {
  const least = expected.get(operation)!;
  const row: OperationRow = operations[operation];
  if (least === "any") return "through";
  // Organisations live in the account, which these keys cannot see.
  const asked = row.scoped ? scope : "above";
  if (asked === "above" || asked === "beside" || asked === "nowhere") return 404;
  return RANK[role]! >= RANK[least]! ? "through" : 403;
}

const people = [...expected].filter(([, access]) => access in RANK).map(([operation]) => operation);
test.each(people)(
  "%s: each role in each scope",
  async (operation) => {
    const got: string[] = [];
    const wanted: string[] = [];
    // Nothing is compared but the decision: the bodies of 404 differ in their request id only.
    const hidden = new Set<string>();
    for (const role of ROLES) {
      for (const scope of Object.keys(SCOPES) as (keyof typeof SCOPES)[]) {
        const answer = await call(operation, SCOPES[scope], keys[role]);
        const expectation = want(operation, role, scope);
        wanted.push(`${role} ${scope}: ${expectation}`);
        const through = answer.status !== 401 && answer.status !== 403;
        got.push(`${role} ${scope}: ${expectation === "through" && through ? "through" : answer.status}`);
        if (expectation === 404) hidden.add(JSON.stringify({ ...answer.body, instance: "" }));
        expect(answer.status).toBeLessThan(500);
      }
    }
    expect(got).toEqual(wanted);
    expect(hidden.size).toBeLessThanOrEqual(1);
  },
  30_000,
);

test.each(people)("%s: no other kind of credential opens it", async (operation) => {
  for (const kind of [
    "worker",
    "forged",
    "expired",
    "none",
    "forgedTask",
    ...(forTasks.has(operation) ? [] : ["task"]),
  ]) {
    const answer = await call(operation, SCOPES.own, keys[kind]);
    expect([kind, answer.status, answer.body.code]).toEqual([kind, 401, "unauthenticated"]);
  }
});

test.each([...forTasks])(
  "%s: a running task's token opens it in the task's own scope and in no other",
  async (operation) => {
    const got = [];
    for (const scope of Object.keys(SCOPES) as (keyof typeof SCOPES)[]) {
      const { status, body } = await call(operation, SCOPES[scope], keys.task);
      got.push(
        `${scope}: ${scope === "own" && status !== 401 && status !== 403 ? "through" : `${status} ${body.code}`}`,
      );
    }
    expect(got).toEqual([
      "own: through",
      "above: 404 not_found",
      "beside: 404 not_found",
      "below: 404 not_found",
      "nowhere: 404 not_found",
    ]);
  },
);

test.each([...expected].filter(([, access]) => access === "worker").map(([operation]) => operation))(
  "%s: only a worker's session opens it",
  async (operation) => {
    for (const kind of ["viewer", "editor", "admin", "forged", "expired", "none", "task", "forgedTask"])
      expect([kind, (await call(operation, "", keys[kind])).status]).toEqual([kind, 401]);
    expect((await call(operation, "", keys.worker)).status).not.toBe(401);
  },
);

test("what is hidden is answered like what is missing, whether it exists or not", async () => {
  await s.ask("PUT", "/v1/agents/there?org=o2", { body: { spec: {} } });
  const bodies = new Set<string>();
  for (const path of [
    "/v1/agents/there?org=o2",
    "/v1/agents/not-there?org=o2",
    "/v1/agents/not-there?org=o1",
    "/v1/agents/x?org=nobody",
    "/v1/agents?org=nobody",
    "/v1/organizations/o2",
  ]) {
    const answer = await s.ask("GET", path, { key: keys.admin });
    bodies.add(JSON.stringify([answer.status, { ...answer.body, instance: "" }]));
  }
  expect(bodies.size).toBe(1);
});
