import { connect } from "node:net";
import type { Schemas } from "../../domain/nouns.ts";
import { agentsOf } from "../../testing/agents.ts";
import { HOOK_CALLS, signHook } from "../../testing/hooks.ts";
import { eventually, startService, type TestService } from "../../testing/service.ts";
import type { TestWorker } from "../../testing/worker.ts";
import { HookBounds } from "./bounds.ts";

let s: TestService;
let here: TestWorker;
let there: TestWorker;
const { put, agent } = agentsOf(() => s);
const URL_ = "https://git.example/team/shop.git";

beforeAll(async () => {
  s = await startService();
  await put("/v1/organizations/o", {});
  await put("/v1/projects/p?org=o", {});
  here = await agent("here");
  there = await agent("there", "?org=o");
  await put("/v1/appprojects/team?org=o", { agent: "there" });
  const app = (id: string, query: string, agentRef: string, source: object) =>
    put(`/v1/applications/${id}${query}`, {
      agent: agentRef,
      destination: {},
      source,
      ...(query.includes("project=") ? { appProject: "org.team" } : {}),
    });
  await app("by-https", "", "here", { repoUrl: "https://git.example/team/shop", path: "a" });
  await app("below", "?org=o&project=p", "org.there", { repoUrl: "git@git.example:team/shop.git", path: "b" });
  await put("/v1/repositories/code", { agent: "here", url: "https://git.example/team/registered.git" });
  await app("by-name", "", "here", { repository: "code", path: "c" });
  await put("/v1/applications/several", {
    agent: "here",
    destination: {},
    sources: [
      { repoUrl: "https://git.example/team/one", path: "." },
      { repoUrl: "oci://registry.example/charts", chart: "web", targetRevision: "1.x" },
    ],
  });
  await put("/v1/applicationsets/set", {
    agent: "here",
    generators: [
      { git: { repoURL: "https://git.example/team/sets.git", revision: "main", directories: [{ path: "*" }] } },
    ],
    template: {
      metadata: { name: "{{.path.basename}}" },
      spec: {
        project: "default",
        source: { repoURL: "https://git.example/team/sets.git", path: "." },
        destination: {},
      },
    },
  });
}, 120_000);
afterAll(() => s?.stop());

const hook = async (id: string, spec: Partial<Schemas["WebhookSpec"]> = {}, query = "") => {
  const made = await put(`/v1/webhooks/${id}${query}`, { provider: "generic", ...spec });
  if (made.status >= 300) throw new Error(made.text);
  const { body } = await s.ask("GET", `/v1/webhooks/${id}/secret${query}`);
  return {
    object: made.body as Schemas["Webhook"],
    path: new URL(body.url).pathname,
    secret: body.secret as string,
    url: body.url as string,
    username: body.username,
  };
};
const tell = (path: string, secret: string, payload: object, headers: Record<string, string> = {}) =>
  s.ask("POST", path, { key: undefined, body: payload, headers: { authorization: `Bearer ${secret}`, ...headers } });
/** What an agent is told next; nothing within half a second counts as nothing. */
const heard = async (worker: TestWorker) => (await worker.exchange({ wait: 0, free: 10 })).tasks;
const told = (worker: TestWorker) =>
  eventually("the agent is told", async () => {
    const [task] = await heard(worker);
    return task;
  });
/** Whatever waits for an agent, or was given to it without an end, has ended: it would be told again. */
beforeEach(() => s.db.query("delete from tasks where kind = 'repository.changed'"));

test("a signed call has the agents of this scope and below look again, and is answered before they have", async () => {
  const { path, secret } = await hook("all");
  const answer = await tell(path, secret, { url: URL_, revision: "a".repeat(40), ref: "refs/heads/main" });
  expect([answer.status, answer.body]).toEqual([202, { outcome: "Accepted", repositories: 1 }]);
  for (const worker of [here, there])
    expect(await told(worker)).toMatchObject({
      kind: "repository.changed",
      params: { urls: [URL_], refs: ["refs/heads/main"], revision: "a".repeat(40) },
    });
});

test("what is above or beside its scope hears nothing", async () => {
  const { path, secret } = await hook("narrow", {}, "?org=o&project=p");
  expect((await tell(path, secret, { url: URL_ })).body).toEqual({ outcome: "Accepted", repositories: 1 });
  expect(await told(there)).toMatchObject({ kind: "repository.changed" });
  expect(await heard(here)).toEqual([]);
});

test.each([
  ["a registered repository", { url: "ssh://git@git.example:2222/team/registered" }],
  ["one of several sources", { url: "git@git.example:team/one.git" }],
  ["a chart by its registry", { image: "registry.example/charts/web:1.2.3" }],
  ["a generator of a set", { url: "https://GIT.example/Team/Sets/" }],
])("found by %s", async (_, payload) => {
  const { path, secret } = await hook("found");
  expect((await tell(path, secret, payload)).body).toEqual({ outcome: "Accepted", repositories: 1 });
  expect(await told(here)).toMatchObject({ kind: "repository.changed" });
});

test.each([
  ["of a generator may answer by any repository", { plugin: { configMapRef: { name: "p" } } }, {}, "Accepted"],
  ["of a source is another", { list: { elements: [{ a: "1" }] } }, { plugin: { name: "p" } }, "Ignored"],
])("a plugin %s", async (_, generator, more, want) => {
  const { path, secret } = await hook(`plugin-${want.toLowerCase()}`);
  const source = { repoURL: "https://git.example/team/elsewhere", path: ".", ...more };
  const template = { metadata: { name: "n" }, spec: { project: "default", source, destination: {} } };
  const generators = [{ matrix: { generators: [{ list: { elements: [{ b: "1" }] } }, generator] } }];
  const made = await put("/v1/applicationsets/any", { agent: "here", generators, template });
  const { body } = await tell(path, secret, { url: "https://git.example/team/other" });
  await s.ask("DELETE", "/v1/applicationsets/any");
  expect(made.status).toBeLessThan(300);
  expect(body.outcome).toBe(want);
  await heard(here);
});

test("a repository that nobody reads makes nobody look", async () => {
  const { path, secret } = await hook("nobody");
  expect((await tell(path, secret, { url: "https://git.example/team/other" })).body).toEqual({
    outcome: "Ignored",
    repositories: 0,
  });
  expect([await heard(here), await heard(there)]).toEqual([[], []]);
});

test("an agent that is away is told once when it is back, however often something changed", async () => {
  const { path, secret } = await hook("away");
  for (let i = 0; i < 20; i++)
    expect((await tell(path, secret, { url: URL_, revision: String(i % 10).repeat(40) })).status).toBe(202);
  const waiting = await s.db.query(
    "select agent_uid, count(*)::int n from tasks where kind = 'repository.changed' and state = 'Queued' and params->'urls' = $1::jsonb group by 1",
    [JSON.stringify([URL_])],
  );
  expect(waiting.map(({ n }) => n)).toEqual([1, 1]);
});

test("a burst of calls is told once at once, and once more for what came meanwhile", async () => {
  const { path, secret } = await hook("burst");
  let got = 0;
  const stop = new AbortController();
  const take = (async () => {
    while (!stop.signal.aborted)
      for (const task of await heard(here)) {
        got++;
        await here.call(`tasks/${task.task}/result`, { fence: task.fence, outcome: "succeeded" });
      }
  })();
  const began = performance.now();
  await Promise.all(Array.from({ length: 60 }, () => tell(path, secret, { url: URL_ })));
  await eventually("the last look", async () => got >= 2);
  stop.abort();
  await take;
  const windows = Math.ceil((performance.now() - began) / 100) + 1;
  expect(got).toBeLessThanOrEqual(windows);
});

test("unknown, deleted, wrongly signed and unsigned are one answer", async () => {
  const known = await hook("refused");
  const gone = await hook("gone");
  await s.ask("DELETE", "/v1/webhooks/gone");
  const other = await hook("other");
  const bodies = new Set<string>();
  for (const [path, secret] of [
    [known.path, "wrong"],
    [known.path, other.secret],
    [known.path, ""],
    [gone.path, gone.secret],
    [known.path.replace(/.$/, (last) => (last === "A" ? "B" : "A")), known.secret],
    ["/v1/hooks/default_x", known.secret],
    [`/v1/hooks/default_${"A".repeat(43)}`, known.secret],
    [`/v1/hooks/nobody_${"A".repeat(43)}`, known.secret],
  ] as const) {
    const { status, body } = await tell(path, secret, { url: URL_ });
    bodies.add(JSON.stringify([status, { ...body, instance: "" }]));
  }
  expect([...bodies].map((text) => JSON.parse(text)[0])).toEqual([401]);
  expect([...bodies][0]).toContain("webhook_refused");
});

test("the signature is looked at before the body is parsed", async () => {
  const { path, secret } = await hook("first", { provider: "github" });
  const broken = '{"repository": ';
  const unsigned = await s.ask("POST", path, { key: undefined, raw: broken, headers: { "x-github-event": "push" } });
  expect([unsigned.status, unsigned.body.code]).toEqual([401, "webhook_refused"]);
  const { headers } = signHook(
    { provider: "github", headers: { "x-github-event": "push" }, payload: {} },
    secret,
    broken,
  );
  const signed = await s.ask("POST", path, { key: undefined, raw: broken, headers });
  expect([signed.status, signed.body.code]).toEqual([400, "invalid_json"]);
});

test.each([
  "[]",
  "null",
  '"x"',
  "1",
  "",
  "{",
  `{"a":${"[".repeat(40)}${"]".repeat(40)}}`,
  '{"a":"\\ud800"}',
  "\u00ff\u00fe",
])("a signed body that is %j is refused with a reason", async (raw) => {
  const { path, secret } = await hook("bodies", { provider: "github" });
  const bytes = Buffer.from(raw, "latin1");
  const { headers } = signHook(
    { provider: "github", headers: { "x-github-event": "push" }, payload: {} },
    secret,
    bytes,
  );
  const answer = await s.ask("POST", path, { key: undefined, raw: bytes, headers });
  expect([answer.status, answer.headers.get("content-type")]).toEqual([400, "application/problem+json"]);
});

test("a form with the payload in it is taken, its signature is over the form", async () => {
  const { path, secret } = await hook("form", { provider: "github" });
  const call = HOOK_CALLS.find((one) => one.provider === "github" && one.name === "a push")!;
  await put("/v1/repositories/hub", { agent: "here", url: "https://github.com/octo/shop" });
  const raw = new URLSearchParams({ payload: JSON.stringify(call.payload) }).toString();
  const { headers } = signHook(call, secret, raw);
  const send = (text: string, more: Record<string, string> = {}) =>
    s.ask("POST", path, {
      key: undefined,
      raw: text,
      headers: { ...headers, "content-type": "application/x-www-form-urlencoded", ...more },
    });
  expect((await send(raw)).body).toEqual({ outcome: "Accepted", repositories: 1 });
  expect((await send(`${raw}&a=b`)).status).toBe(401);
  for (const bad of ["a=b", "payload=%", "payload=", "payload=[]"]) {
    const signed = signHook(call, secret, bad).headers;
    expect([bad, (await send(bad, { "x-hub-signature-256": signed["x-hub-signature-256"]! })).status]).toEqual([
      bad,
      400,
    ]);
  }
});

test("what is too large is refused before it is read, announced or not", async () => {
  const { path, secret } = await hook("large");
  const { port, hostname } = new URL(s.url);
  const send = (field: string, chunk?: Buffer) =>
    new Promise<string>((resolve) => {
      const socket = connect(Number(port), hostname);
      let got = "";
      socket.on("data", (data) => {
        got += data;
      });
      socket.on("error", () => {});
      socket.on("close", () => resolve(got));
      socket.write(
        `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${secret}\r\nContent-Type: application/json\r\n${field}\r\n\r\n`,
      );
      let left = 40;
      const more = () => {
        while (chunk && left-- > 0 && socket.writable && socket.write(chunk));
      };
      socket.on("drain", more);
      more();
    });
  const refused = async () =>
    Number(/outcome="TooLarge"\} ([0-9]+)/.exec((await s.ask("GET", "/metrics")).text)?.[1] ?? 0);
  const before = await refused();
  expect(await send(`Content-Length: ${25 * 1024 * 1024 + 1}`)).toMatch(/^HTTP\/1\.1 413 /);
  // Who goes on sending may lose the answer with the connection.
  const chunk = Buffer.concat([Buffer.from("100000\r\n"), Buffer.alloc(0x100000, 32), Buffer.from("\r\n")]);
  expect(await send("Transfer-Encoding: chunked", chunk)).toMatch(/^(HTTP\/1\.1 413 |$)/);
  expect((await refused()) - before).toBe(2);
});

test("a webhook that one address calls too often tells it to wait, before the body; an address that was made up is refused without reading a byte", async () => {
  const { path, secret } = await hook("often");
  const { bounds } = s.running.services.webhooks;
  const reads = bounds.reads.bind(bounds);
  // Others call it as often as they are let, until just before this call: its bound fills by the clock.
  bounds.reads = (address, network) => {
    while (reads(address, network));
    return reads(address, network);
  };
  const half = (to: string) =>
    `POST ${to} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${secret}\r\nContent-Length: 10000000\r\n\r\n{`;
  try {
    const answer = await tell(path, secret, { url: URL_ });
    expect([answer.status, answer.headers.get("retry-after")]).toEqual([429, "1"]);
    expect(await answerTo(half(path))).toMatch(/^HTTP\/1\.1 429 /);
    expect(await answerTo(half("/v1/hooks/made-up"))).toMatch(/^HTTP\/1\.1 401 /);
    expect(await tell("/v1/hooks/made-up", secret, { url: URL_ })).toMatchObject({
      status: 401,
      body: { code: "webhook_refused" },
    });
  } finally {
    bounds.reads = reads;
  }
});

test("of calls with nothing in their head that could be a secret, few are read; the others are refused before their body", async () => {
  const { path, secret } = await hook("bare");
  const half = `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 10000000\r\n\r\n{`;
  const { bounds } = s.running.services.webhooks;
  while (bounds.readsUnsigned(path.split("/").pop()!));
  expect(await answerTo(half)).toMatch(/^HTTP\/1\.1 401 [\s\S]*webhook_refused/);
  expect((await tell(path, secret, { url: URL_ })).status).toBe(202);
});

/** What comes back to bytes that are not all of a request. */
async function answerTo(text: string): Promise<string> {
  const socket = connect(Number(new URL(s.url).port), "127.0.0.1");
  socket.on("error", () => {});
  socket.write(text);
  let got = "";
  for await (const chunk of socket) {
    got += String(chunk);
    if (got.endsWith("}")) break;
  }
  return got;
}

test("one address may call a webhook 200 times at once and 20 times a second; many made-up ones take no memory", () => {
  let now = 0;
  const bounds = new HookBounds(() => now);
  const calls = (hook: string, network: string) => {
    let n = 0;
    while (n < 1_000 && bounds.reads(hook, network)) n++;
    return n;
  };
  expect(calls("a", "stranger")).toBe(200);
  expect(calls("a", "host")).toBe(200);
  expect(calls("b", "stranger")).toBe(200);
  now += 1_000;
  expect(calls("a", "stranger")).toBe(20);
  for (let i = 0; i < 30_000; i++) bounds.reads(`made-up-${i}`, "x");
  for (let i = 0; i < 30_000; i++) bounds.readsUnsigned(`made-up-${i}`);
  expect(bounds.names).toBeLessThanOrEqual(20_000);
});

test("the secret is nowhere in the store, and who has asked for it is in the audit trail", async () => {
  const { secret, path } = await hook("kept-nowhere");
  await tell(path, secret, { url: URL_ });
  const tables = await s.db.query(
    "select table_name name from information_schema.tables where table_schema = current_schema()",
  );
  for (const { name } of tables) {
    const rows = await s.db.query(
      `select t::text from ${name} t where position($1 in t::text) > 0 or position($2 in t::text) > 0`,
      [secret, path.split("/").pop()],
    );
    expect([name, rows]).toEqual([name, []]);
  }
  const { body } = await s.ask("GET", "/v1/audit?limit=20");
  expect(body.items.find((line: { operation: string }) => line.operation === "getWebhookSecret")).toMatchObject({
    target: "-/-/kept-nowhere",
    outcome: "accepted",
  });
});

test("its status says what came last, to the minute, and one that is off is told as such", async () => {
  const { path, secret } = await hook("status");
  const status = async (outcome: string) =>
    eventually(outcome, async () => {
      const { body } = await s.ask("GET", "/v1/webhooks/status");
      return body.status.lastOutcome === outcome && body.status;
    });
  await tell(path, secret, { url: URL_ });
  const now = await status("Accepted");
  expect(now).toMatchObject({ lastRepository: URL_, url: `${s.url}${path}` });
  expect(now.lastReceivedAt).toMatch(/:00\.000Z$/);
  const { body } = await s.ask("PATCH", "/v1/webhooks/status", { body: { spec: { enabled: false } } });
  expect(body.status.url).toBe(`${s.url}${path}`);
  const version = body.version;
  expect((await tell(path, secret, { url: URL_ })).body.outcome).toBe("Ignored");
  for (let i = 0; i < 50; i++) await tell(path, "wrong", { url: URL_ });
  await status("SignatureInvalid");
  // One for the first and one for the last of all of them.
  const events = await s.db.query("select count(*)::int n from events where id = 'status' and version > $1", [version]);
  expect(events[0]!.n).toBeLessThanOrEqual(2);
}, 30_000);

test("Docker Hub's secret stands behind the address; Azure DevOps gets a name with it", async () => {
  const docker = await hook("docker", { provider: "dockerHub" });
  expect(docker.url).toBe(`${s.url}${docker.path}?secret=${docker.secret}`);
  const call = HOOK_CALLS.find((one) => one.provider === "dockerHub")!;
  const send = (query: string) => s.ask("POST", `${docker.path}${query}`, { key: undefined, body: call.payload });
  expect((await send(`?secret=${docker.secret}`)).status).toBe(202);
  expect((await send("?secret=wrong")).status).toBe(401);
  expect((await send("")).status).toBe(401);
  expect((await hook("azure", { provider: "azureDevOps" })).username).toBe("outpost");
});

test("calls are counted by provider and outcome", async () => {
  const { text } = await s.ask("GET", "/metrics");
  expect(text).toMatch(/outpost_webhook_requests_total\{provider="generic",outcome="Accepted"\} [1-9]/);
  expect(text).toMatch(/outpost_webhook_requests_total\{provider="none",outcome="SignatureInvalid"\} [1-9]/);
});
