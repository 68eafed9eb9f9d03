import { type OperationId, operations } from "../../openapi/contract/operations.ts";
import { generateSealKeys } from "../../openapi/seal.ts";
import { outpost } from "./command.ts";
import { complete } from "./completion.ts";
import { listOf, NOUNS } from "./objects/nouns.ts";
import { specFlagsOf } from "./output/flags.ts";
import { operationOf, person, type Seen } from "./testing.ts";

const object = {
  id: "a",
  uid: "u",
  generation: 1,
  version: "1",
  createdAt: "2026-01-01T00:00:00Z",
  updatedAt: "2026-01-01T00:00:00Z",
  spec: { agent: "a" },
  status: {},
};
const task = {
  id: "t",
  kind: "shell.run",
  params: {},
  state: "Succeeded",
  createdAt: "2026-01-01T00:00:00Z",
  attempts: [],
};
const keys = await generateSealKeys();

const run = {
  id: "r",
  pipeline: "p",
  generation: 1,
  revision: 1,
  state: "Succeeded",
  inputs: {},
  steps: [{ id: "s", state: "Succeeded", task: "t" }],
  createdAt: "2026-01-01T00:00:00Z",
};

const deployment = {
  id: "d",
  service: { id: "cart" },
  environment: { id: "live" },
  application: "a",
  outcome: "Succeeded",
  startedAt: "2026-01-01T00:00:00Z",
  finishedAt: "2026-01-01T00:01:00Z",
};

function service({ operation, url }: Seen) {
  if (operation === "watchTasks")
    return { type: "text/event-stream", body: `event: put\ndata: ${JSON.stringify(task)}\n\n` };
  if (operation === "getWebhookSecret")
    return { body: { url: "https://outpost.example/v1/hooks/h", secret: "s", username: "outpost" } };
  if (operation === "exportAudit") return { type: "application/x-ndjson", body: '{"seq":1}\n' };
  if (operation === "getScopeMetrics") return { type: "text/plain", body: "outpost_scope_metrics_cut 0\n" };
  if (operation === "getTaskArtifact") return { type: "application/octet-stream", body: "bytes" };
  if (operation && ["runPipeline", "getRun", "cancelRun", "approveStep", "rejectStep"].includes(operation))
    return { body: run };
  if (operation === "watchAll")
    return {
      type: "text/event-stream",
      body: `id: 5\nevent: put\ndata: ${JSON.stringify({ collection: "agents", object: { id: "a" } })}\n\n`,
    };
  if (operation === "watch")
    return {
      type: "text/event-stream",
      body: `event: put\nid: 1\ndata: ${JSON.stringify({ ...object, status: { connected: true } })}\n\n`,
    };
  if (operation === "getServiceMatrix") return { body: { items: [], environments: [] } };
  if (operation === "getDeployment") return { body: deployment };
  if (operation === "whoAmI") return { body: { account: "default", id: "me", role: "admin" } };
  if (operation === "getAgent")
    return { body: { ...object, status: { sealKey: { id: "k", publicKey: keys.publicKey } } } };
  if (operation === "getApplicationEvents") return { body: { items: [] } };
  if (operation === "getApplicationLogs")
    return { type: "text/event-stream", body: 'event: open\ndata: {"streams":[]}\n\nevent: end\ndata: {}\n\n' };
  if (operation === "getApplicationTree") return { body: { nodes: [] } };
  if (operation === "getApplicationResource" || operation === "runApplicationAction")
    return { body: { live: {}, actions: [] } };
  if (operation === "getApplicationRevision") return { body: { revision: "r" } };
  if (operation === "getRepositoryCharts" || operation === "generateApplicationSet") return { body: { items: [] } };
  if (operation === "getRepositoryRefs") return { body: { branches: [], tags: [] } };
  if (operation === "testRepository" || operation === "testCluster") return { body: { state: "Successful" } };
  if (operation === "getTaskLogs") return { body: { items: [], complete: true } };
  if (operation?.endsWith("Task")) return { body: task };
  if (operation?.startsWith("render")) return { type: "application/yaml", body: "kind: List\n" };
  if (operation === "getApplicationManifests") return { body: { revision: "r", manifests: [] } };
  if (operation?.startsWith("delete") || operation?.startsWith("revoke")) return { status: 204 };
  if (operation === "countObjects") return { body: { total: 3, groups: [{ by: { health: "Healthy" }, count: 3 }] } };
  if (operation?.startsWith("list") || url.pathname.endsWith("history") || url.pathname.endsWith("diff"))
    return { body: { items: [] } };
  return { body: object };
}

/** For each operation one command line that reaches it. */
const lines: Record<string, string[]> = {};
for (const noun of NOUNS) {
  lines[listOf(noun)] = [noun.word, "list"];
  lines[`get${noun.schema}`] = [noun.word, "get", "a"];
  lines[`put${noun.schema}`] = [noun.word, "create", "a"];
  lines[`patch${noun.schema}`] = [noun.word, "patch", "a", "--set", "name=x"];
  lines[`delete${noun.schema}`] = [noun.word, "delete", "a"];
}
Object.assign(lines, {
  countObjects: ["app", "count", "--by", "health,sync"],
  watch: ["agent", "wait", "a"],
  whoAmI: ["whoami"],
  createAgentToken: ["agent", "token", "a"],
  listAgentTokens: ["agent", "tokens", "a"],
  revokeAgentToken: ["agent", "revoke", "a", "t"],
  renderAgentManifest: ["agent", "manifest", "a"],
  renderAgentValues: ["agent", "values", "a"],
  createDelegateToken: ["delegate", "token", "a"],
  listDelegateTokens: ["delegate", "tokens", "a"],
  revokeDelegateToken: ["delegate", "revoke", "a", "t"],
  rotateDelegateToken: ["delegate", "rotate", "a", "t", "--overlap", "1h"],
  renderDelegateManifest: ["delegate", "manifest", "a"],
  getRepositoryRefs: ["repo", "refs", "a"],
  testRepository: ["repo", "test", "a"],
  testCluster: ["cluster", "test", "a"],
  syncApplication: ["app", "sync", "a", "--no-wait"],
  refreshApplication: ["app", "refresh", "a"],
  getApplicationDiff: ["app", "diff", "a"],
  getApplicationManifests: ["app", "manifests", "a"],
  getApplicationHistory: ["app", "history", "a"],
  rollbackApplication: ["app", "rollback", "a", "3", "--no-wait"],
  terminateApplication: ["app", "terminate", "a", "--no-wait"],
  getApplicationTree: ["app", "tree", "a"],
  getApplicationResource: ["app", "resource", "a", "apps/Deployment/web/web"],
  runApplicationAction: ["app", "action", "a", "apps/Deployment/web/web", "restart"],
  getApplicationRevision: ["app", "revision", "a", "main", "--source", "1"],
  getApplicationEvents: ["app", "events", "a", "--kind", "Pod", "--name", "web"],
  getApplicationLogs: [
    "app",
    "logs",
    "a",
    "--kind",
    "Pod",
    "--name",
    "web",
    "--follow",
    "--tail",
    "5",
    "--since",
    "10m",
  ],
  getServiceMatrix: ["service", "matrix"],
  listDeployments: ["service", "deployments", "a"],
  getDeployment: ["service", "deployment", "d"],
  rollbackDeployment: ["service", "rollback", "d", "--no-wait"],
  getRepositoryCharts: ["repo", "charts", "a"],
  generateApplicationSet: ["appset", "generate", "a"],
  getWebhookSecret: ["webhook", "secret", "a"],
  rotateWebhookSecret: ["webhook", "rotate", "a", "--overlap", "24h"],
  createTask: ["task", "run", "shell.run", "--script", "true"],
  listTasks: ["task", "list"],
  getTask: ["task", "get", "t"],
  cancelTask: ["task", "cancel", "t"],
  getTaskLogs: ["task", "logs", "t"],
  retryTask: ["task", "retry", "t"],
  watchTasks: ["task", "watch"],
  watchAll: ["watch", "app,agent", "--filter", "health!=Healthy"],
  getTaskArtifact: ["task", "artifact", "get", "t", "report.txt", "--to", "-"],
  runPipeline: ["pipeline", "run", "p", "--input", "tag=v1"],
  listRuns: ["run", "list", "--pipeline", "p"],
  getRun: ["run", "get", "r"],
  cancelRun: ["run", "cancel", "r"],
  approveStep: ["run", "approve", "r", "s", "--comment", "fine"],
  rejectStep: ["run", "reject", "r", "s"],
  rotateServiceKey: ["servicekey", "rotate"],
  createApiKey: ["apikey", "create", "k", "--role", "viewer"],
  listApiKeys: ["apikey", "list"],
  deleteApiKey: ["apikey", "delete", "k"],
  getScopeMetrics: ["metrics"],
  listAudit: ["audit"],
  exportAudit: ["audit", "export", "--since", "2026-01-01T00:00:00Z"],
});

// Workers and hosts of repositories speak their own; probes and scrapers are no people.
const forPeople = (Object.keys(operations) as OperationId[]).filter(
  (id) => !/^\/v1\/(worker|hooks)\//.test(operations[id].path) && operations[id].path.startsWith("/v1/"),
);

test.each(forPeople)("%s can be reached from the command line", async (operation) => {
  expect(lines[operation]).toBeDefined();
  // Watching goes on until Ctrl-C.
  const stop = new AbortController();
  const answers = (seen: Seen) => {
    if (seen.operation === "watchTasks" || seen.operation === "watchAll") setTimeout(() => stop.abort(), 50);
    return service(seen);
  };
  const me = person(answers, { signal: stop.signal });
  const { exit, err } = await me.types("--org", "o", ...lines[operation]!);
  expect([exit, exit === 0 ? "" : err]).toEqual([0, ""]);
  expect(me.requests.map((r) => r.operation)).toContain(operation);
  // What is sent fits the contract: no request without an operation, no scope where there is none.
  for (const r of me.requests) {
    expect(r.operation).toBeDefined();
    expect(r.url.searchParams.has("org")).toBe(operations[r.operation!].scoped);
  }
});

test("every collection of the contract has its noun", () => {
  const collections = new Set(
    Object.values(operations).flatMap((row) => ("collection" in row ? [row.collection] : [])),
  );
  expect(NOUNS.map((n) => n.collection).sort()).toEqual([...collections].sort());
});

test("every noun has list, get, create, apply, patch, delete, wait and watch", () => {
  const io = { env: {}, out: { write() {}, isTTY: false }, err: { write() {}, isTTY: false } } as never;
  for (const noun of NOUNS) {
    const verbs = outpost(io)
      .commands.find((c) => c.name() === noun.word)!
      .commands.map((c) => c.name());
    expect(verbs).toEqual(
      expect.arrayContaining(["list", "get", "create", "apply", "patch", "delete", "wait", "watch"]),
    );
  }
});

test.each(NOUNS.map((n) => n.schema))("flags of %s have one name each and none of the global ones", (schema) => {
  const names = specFlagsOf(`${schema}Spec`).map((f) => f.name);
  expect(new Set(names).size).toBe(names.length);
  for (const name of names) expect(name).not.toMatch(/^no-/);
  for (const taken of [
    "org",
    "project",
    "context",
    "endpoint",
    "output",
    "filename",
    "set",
    "if-match",
    "wait",
    "timeout",
  ])
    expect(names).not.toContain(taken);
});

test("no secret can be given as an argument", () => {
  const secrets = NOUNS.flatMap((n) => specFlagsOf(`${n.schema}Spec`)).filter((f) => f.kind === "secret");
  expect(secrets.map((f) => f.path.at(-1)).sort()).toEqual(
    [
      "azureServicePrincipalClientSecret",
      "azureServicePrincipalClientSecret",
      "bearerToken",
      "bearerToken",
      "bearerToken",
      "clientCertData",
      "clientKeyData",
      "gcpServiceAccountKey",
      "gcpServiceAccountKey",
      "githubAppPrivateKey",
      "githubAppPrivateKey",
      "password",
      "password",
      "password",
      "sshPrivateKey",
      "sshPrivateKey",
      "tlsClientCertData",
      "tlsClientCertData",
      "tlsClientCertKey",
      "tlsClientCertKey",
    ].sort(),
  );
  expect(secrets.every((f) => f.name.endsWith("-file"))).toBe(true);
});

test("operationOf knows a path from its neighbours", () => {
  expect(operationOf("GET", "/v1/agents/a")).toBe("getAgent");
  expect(operationOf("POST", "/v1/agents/a/tokens")).toBe("createAgentToken");
  expect(operationOf("GET", "/v2/agents")).toBeUndefined();
});

test.each([
  [["ag"], ["agent"]],
  [
    ["app", "d"],
    ["delete", "diff"],
  ],
  [["app", "list", "-o", "j"], ["json"]],
  [["agent", "create", "--mo"], ["--mode"]],
  [
    ["agent", "create", "--mode", ""],
    ["cluster", "namespaced"],
  ],
  [["app", "get", "--endpoint", ""], []],
])("completion of %j", (words, want) => {
  const io = { env: {}, out: { write() {}, isTTY: false }, err: { write() {}, isTTY: false } } as never;
  expect(complete(outpost(io), words).words.sort()).toEqual(want);
});

test("an endpoint of plain HTTP on another machine is warned of, unless that is meant", async () => {
  const warned = async (env: NodeJS.ProcessEnv) => {
    const me = person(service, {
      env: { OUTPOST_API_KEY: "opk_test", OUTPOST_CONFIG: "/nonexistent/config.json", ...env },
    });
    return (await me.types("audit")).err;
  };
  expect(await warned({ OUTPOST_ENDPOINT: "http://outpost.example.com" })).toMatch(
    /^warning: http:\/\/outpost\.example\.com is plain HTTP/,
  );
  expect(await warned({ OUTPOST_ENDPOINT: "http://outpost.example.com", OUTPOST_ALLOW_HTTP: "true" })).not.toMatch(
    /warning/,
  );
  expect(await warned({ OUTPOST_ENDPOINT: "http://127.0.0.1:8080" })).not.toMatch(/warning/);
});
