import { startService, type TestService } from "../testing/service.ts";

let s: TestService;
beforeAll(async () => {
  s = await startService();
}, 60_000);
afterAll(() => s?.stop());

const put = (path: string, spec: object, headers: Record<string, string> = {}) =>
  s.ask("PUT", path, { body: { spec }, headers });

test("an object is created, read, replaced, patched and deleted", async () => {
  const made = await put("/v1/agents/crud", { tags: ["a"] });
  expect(made).toMatchObject({
    status: 201,
    body: { id: "crud", generation: 1, spec: { tags: ["a"], mode: "cluster", namespace: "outpost-agent" } },
  });
  expect(made.headers.get("etag")).toBe(`"${made.body.version}"`);
  const again = await put("/v1/agents/crud", { tags: ["a"] });
  expect(again).toMatchObject({ status: 200, body: { generation: 1, version: made.body.version } });
  const patched = await s.ask("PATCH", "/v1/agents/crud", { body: { spec: { tags: null, description: "d" } } });
  expect(patched).toMatchObject({ status: 200, body: { generation: 2, spec: { description: "d" } } });
  expect(patched.body.spec.tags).toBeUndefined();
  expect((await s.ask("DELETE", "/v1/agents/crud")).status).toBe(204);
  expect(await s.ask("GET", "/v1/agents/crud")).toMatchObject({ status: 404, body: { code: "not_found" } });
});

test("preconditions: stale If-Match is 412 with the current version, If-None-Match * only creates, a known ETag gives 304", async () => {
  const first = await put("/v1/agents/cond", {});
  const second = await put("/v1/agents/cond", { description: "x" }, { "if-match": first.headers.get("etag")! });
  expect(second.status).toBe(200);
  expect(await put("/v1/agents/cond", {}, { "if-match": first.headers.get("etag")! })).toMatchObject({
    status: 412,
    body: { code: "version_mismatch", currentVersion: second.body.version },
  });
  expect(await put("/v1/agents/cond", {}, { "if-none-match": "*" })).toMatchObject({
    status: 409,
    body: { code: "already_exists" },
  });
  expect(await put("/v1/agents/none", {}, { "if-match": '"1"' })).toMatchObject({
    status: 412,
    body: { code: "version_mismatch" },
  });
  expect(
    (await s.ask("GET", "/v1/agents/cond", { headers: { "if-none-match": second.headers.get("etag")! } })).status,
  ).toBe(304);
});

test("a reference to nothing names the id of the same scope that was probably meant", async () => {
  await put("/v1/agents/harbour", {});
  const got = await put("/v1/repositories/x", { agent: "harbor", url: "https://h/x" });
  expect(got).toMatchObject({
    status: 422,
    body: { code: "reference_not_found", detail: expect.stringContaining("Did you mean `harbour`?") },
  });
  const far = await put("/v1/repositories/x", { agent: "account.harbor", url: "https://h/x" });
  expect(far.body.detail).not.toContain("harbour");
});

test("a body that does not fit is told every missing and unknown field once, with the field that was probably meant", async () => {
  const spec = { destinaton: {}, source: { repoURL: "https://g.example.com/a", paht: "x" } };
  const want = [
    { pointer: "/spec/destinaton", detail: "unknown field `destinaton`; did you mean `destination`?" },
    { pointer: "/spec/agent", detail: "missing field `agent`" },
    { pointer: "/spec/destination", detail: "missing field `destination`" },
    { pointer: "/spec/source/repoURL", detail: "unknown field `repoURL`; did you mean `repoUrl`?" },
    { pointer: "/spec/source/paht", detail: "unknown field `paht`; did you mean `path`?" },
  ].map((one) => ({ code: "invalid_request", ...one }));
  const got = await put("/v1/applications/x", spec);
  expect(got).toMatchObject({ status: 400, body: { detail: want[0]!.detail, pointer: want[0]!.pointer } });
  expect(got.body.errors).toEqual(want);
  await put("/v1/agents/shaped", {});
  const patched = await s.ask("PATCH", "/v1/agents/shaped", { body: { spec: { tagz: [], descripton: "x" } } });
  expect(patched.body.errors.map((one: { detail: string }) => one.detail)).toEqual([
    "unknown field `tagz`; did you mean `tags`?",
    "unknown field `descripton`; did you mean `description`?",
  ]);
});

describe("bad input has a code and a pointer", () => {
  beforeAll(async () => {
    await put("/v1/agents/bad", {});
    await put("/v1/agents/other", {});
    await put("/v1/repositories/bad", { agent: "bad", url: "https://git.example/a.git" });
    await put("/v1/organizations/o1", {});
    await put("/v1/agents/inorg?org=o1", {});
  });
  const app = {
    agent: "bad",
    destination: { namespace: "n" },
    source: { repoUrl: "https://git.example/a.git", path: "." },
  };
  const cases: [string, { method?: string; path: string; spec: object; want: object }][] = [
    [
      "unknown field",
      {
        path: "/v1/agents/x",
        spec: { tagz: [] },
        want: { status: 400, code: "invalid_request", pointer: "/spec/tagz" },
      },
    ],
    [
      "wrong type",
      {
        path: "/v1/agents/x",
        spec: { tags: "a" },
        want: { status: 400, code: "invalid_request", pointer: "/spec/tags" },
      },
    ],
    [
      "missing field",
      {
        path: "/v1/repositories/x",
        spec: { agent: "bad" },
        want: { status: 400, code: "invalid_request", pointer: "/spec/url" },
      },
    ],
    [
      "id that is not a label",
      { path: "/v1/agents/No_Label", spec: {}, want: { status: 400, code: "invalid_request" } },
    ],
    [
      "missing reference",
      {
        path: "/v1/repositories/x",
        spec: { agent: "nobody", url: "https://h/x" },
        want: { status: 422, code: "reference_not_found", pointer: "/spec/agent" },
      },
    ],
    [
      "reference into a scope below",
      {
        path: "/v1/repositories/x",
        spec: { agent: "inorg", url: "https://h/x" },
        want: { status: 422, code: "reference_not_found", pointer: "/spec/agent" },
      },
    ],
    [
      "reference to an organisation from the account",
      {
        path: "/v1/repositories/x",
        spec: { agent: "org.inorg", url: "https://h/x" },
        want: { status: 422, code: "reference_not_found", pointer: "/spec/agent" },
      },
    ],
    [
      "source and sources",
      {
        path: "/v1/applications/x",
        spec: { ...app, sources: [app.source] },
        want: { status: 422, code: "invalid_field", pointer: "/spec/sources" },
      },
    ],
    [
      "no source",
      {
        path: "/v1/applications/x",
        spec: { agent: "bad", destination: {} },
        want: { status: 422, code: "invalid_field", pointer: "/spec/source" },
      },
    ],
    [
      "repository and repoUrl",
      {
        path: "/v1/applications/x",
        spec: { ...app, source: { ...app.source, repository: "bad" } },
        want: { status: 422, code: "invalid_field", pointer: "/spec/source/repoUrl" },
      },
    ],
    [
      "repository of another agent",
      {
        path: "/v1/applications/x",
        spec: { ...app, agent: "other", source: { repository: "bad" } },
        want: { status: 422, code: "invalid_field", pointer: "/spec/source/repository" },
      },
    ],
    [
      "values that are not YAML",
      {
        path: "/v1/applications/x",
        spec: { ...app, source: { ...app.source, helm: { values: "a: [" } } },
        want: { status: 422, code: "invalid_field", pointer: "/spec/source/helm/values" },
      },
    ],
    [
      "path that leaves the repository",
      {
        path: "/v1/applications/x",
        spec: { ...app, source: { ...app.source, path: "../x" } },
        want: { status: 400, code: "invalid_request", pointer: "/spec/source/path" },
      },
    ],
    [
      "a field that cannot change",
      {
        path: "/v1/repositories/bad",
        spec: { agent: "other", url: "https://git.example/a.git" },
        want: { status: 422, code: "immutable_field", pointer: "/spec/agent" },
      },
    ],
    [
      "credentials for an agent that has no key yet",
      {
        path: "/v1/repositories/bad",
        spec: { agent: "bad", url: "https://git.example/a.git", credentials: { password: "canary-password" } },
        want: { status: 409, code: "agent_not_enrolled", pointer: "/spec/credentials" },
      },
    ],
    [
      "organisation that is not there",
      { path: "/v1/agents/x?org=nobody", spec: {}, want: { status: 404, code: "not_found" } },
    ],
    [
      "project without organisation",
      { path: "/v1/agents/x?project=p", spec: {}, want: { status: 400, code: "invalid_request" } },
    ],
    ["project in the account", { path: "/v1/projects/x", spec: {}, want: { status: 400, code: "invalid_request" } }],
    [
      "unknown query parameter",
      { path: "/v1/agents/x?orgg=p", spec: {}, want: { status: 400, code: "invalid_request" } },
    ],
    [
      "a parameter twice",
      { path: "/v1/agents/x?org=a&org=b", spec: {}, want: { status: 400, code: "invalid_request" } },
    ],
    [
      "patch that breaks the spec",
      {
        method: "PATCH",
        path: "/v1/repositories/bad",
        spec: { url: null },
        want: { status: 400, code: "invalid_request", pointer: "/spec/url" },
      },
    ],
    [
      "patch of what is not there",
      { method: "PATCH", path: "/v1/repositories/x", spec: {}, want: { status: 404, code: "not_found" } },
    ],
  ];
  test.each(cases)("%s", async (_, { method = "PUT", path, spec, want }) => {
    const got = await s.ask(method, path, { body: { spec } });
    expect(got.body).toMatchObject(want);
    expect(got.headers.get("content-type")).toMatch(/^application\/problem\+json/);
    expect(got.text).not.toContain("canary");
  });
});

test("what is referred to cannot be deleted, and says by whom", async () => {
  await put("/v1/agents/used", {});
  await put("/v1/repositories/user", { agent: "used", url: "https://h/x" });
  const got = await s.ask("DELETE", "/v1/agents/used");
  expect(got).toMatchObject({ status: 409, body: { code: "in_use" } });
  expect(got.body.detail).toContain("repositories/user");
  // The agent never heard of the repository, so it goes at once.
  expect((await s.ask("DELETE", "/v1/repositories/user")).status).toBe(204);
  expect((await s.ask("DELETE", "/v1/agents/used")).status).toBe(204);
});

test("an organisation with something in it cannot be deleted; its keys go with it", async () => {
  await put("/v1/organizations/full", {});
  await put("/v1/projects/p?org=full", {});
  expect(await s.ask("DELETE", "/v1/organizations/full")).toMatchObject({ status: 409, body: { code: "in_use" } });
  const key = (await s.ask("POST", "/v1/apikeys?org=full", { body: { id: "k", role: "admin" } })).body.key;
  expect((await s.ask("GET", "/v1/whoami", { key })).status).toBe(200);
  await s.ask("DELETE", "/v1/projects/p?org=full");
  expect((await s.ask("DELETE", "/v1/organizations/full")).status).toBe(204);
  expect((await s.ask("GET", "/v1/whoami", { key })).status).toBe(401);
});

test("lists are ordered and complete while objects come and go", async () => {
  await put("/v1/organizations/pages", {});
  const names = Array.from({ length: 25 }, (_, i) => `n${String(i).padStart(2, "0")}`);
  for (const name of names)
    await put(`/v1/agents/${name}?org=pages`, {
      tags: [Number(name.slice(1)) % 2 ? "odd" : "even"],
      description: name,
    });
  const seen: string[] = [];
  let cursor = "";
  do {
    const page = await s.ask("GET", `/v1/agents?org=pages&limit=7${cursor && `&cursor=${cursor}`}`);
    seen.push(...page.body.items.map((o: { id: string }) => o.id));
    cursor = page.body.nextCursor ?? "";
    // Between two pages one that was seen goes and one behind appears.
    if (seen.length === 7) await s.ask("DELETE", "/v1/agents/n03?org=pages");
    if (seen.length === 7) await put("/v1/agents/n99?org=pages", {});
  } while (cursor);
  expect(seen).toEqual([...names, "n99"]);
  expect((await s.ask("GET", "/v1/agents?org=pages&filter=spec.description=n05")).body.items).toHaveLength(1);
  expect((await s.ask("GET", "/v1/agents?org=pages&filter=id=n05,spec.description=n06")).body.items).toHaveLength(0);
  expect(await s.ask("GET", "/v1/agents?filter=uid=1")).toMatchObject({ status: 400 });
  expect(await s.ask("GET", "/v1/agents?cursor=abc")).toMatchObject({ status: 400 });
  expect((await s.ask("GET", "/v1/agents?inherited=true&limit=500")).body.items.length).toBeGreaterThan(20);
});

test("no update is lost: 64 writers increment one field with If-Match", async () => {
  await put("/v1/agents/counter", { description: "0" });
  let refused = 0;
  const increment = async () => {
    for (;;) {
      const read = await s.ask("GET", "/v1/agents/counter");
      const written = await put(
        "/v1/agents/counter",
        { description: String(Number(read.body.spec.description) + 1) },
        { "if-match": read.headers.get("etag")! },
      );
      if (written.status === 200) return;
      expect(written.body).toMatchObject({ code: "version_mismatch", currentVersion: expect.any(String) });
      refused++;
    }
  };
  const rounds = Number(process.env.OUTPOST_WRITER_ROUNDS ?? 1);
  await Promise.all(
    Array.from({ length: 64 }, async () => {
      for (let i = 0; i < rounds; i++) await increment();
    }),
  );
  expect((await s.ask("GET", "/v1/agents/counter")).body.spec.description).toBe(String(64 * rounds));
  expect(refused).toBeGreaterThan(0);
}, 120_000);

test("an idempotency key gives one effect and the same answer, secrets included, and refuses another body", async () => {
  await put("/v1/agents/idem", {});
  const headers = { "idempotency-key": "k1" };
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => s.ask("POST", "/v1/agents/idem/tokens", { body: {}, headers })),
  );
  expect(new Set(answers.map((a) => a.text)).size).toBe(1);
  expect(answers[0]!.status).toBe(201);
  expect((await s.ask("GET", "/v1/agents/idem/tokens")).body.items).toHaveLength(1);
  expect(await s.ask("POST", "/v1/agents/idem/tokens", { body: { expiresIn: "1h" }, headers })).toMatchObject({
    status: 422,
    body: { code: "idempotency_mismatch" },
  });
  const dump = JSON.stringify(
    await s.db.query("select key, body_hash, encode(answer, 'escape') answer from idempotency"),
  );
  expect(dump).not.toContain(answers[0]!.body.token.slice(-40));
});
