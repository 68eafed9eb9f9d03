import { connect } from "node:net";
import { startService, type TestService } from "../testing/service.ts";

let s: TestService;
beforeAll(async () => {
  s = await startService();
}, 60_000);
afterAll(() => s?.stop());

/** Sends bytes as they are and gives everything that comes back. */
function raw(text: string | Buffer, deadlineMs = 60_000): Promise<string> {
  const { port, hostname } = new URL(s.url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    let got = "";
    const timer = setTimeout(() => socket.destroy(), deadlineMs);
    socket.on("data", (d) => {
      got += d;
      if (/\r\n\r\n[\s\S]*\}$/.test(got)) socket.destroy();
    });
    socket.on("error", reject);
    socket.on("close", () => {
      clearTimeout(timer);
      resolve(got);
    });
    socket.write(text);
  });
}

const head = (extra: string) => `${extra}\r\nHost: x\r\nAuthorization: Bearer ${s.admin}\r\n`;
const cases: [
  string,
  { method?: string; path: string; body?: string | Uint8Array; headers?: Record<string, string>; want: object },
][] = [
  ["a path that is not there", { path: "/v1/nothing", want: { status: 404, code: "not_found" } }],
  ["a path with a slash too many", { path: "/v1/agents/", want: { status: 404, code: "not_found" } }],
  [
    "a method that is not there",
    { method: "POST", path: "/v1/agents/x", body: "{}", want: { status: 405, code: "method_not_allowed" } },
  ],
  ["broken percent-encoding", { path: "/v1/agents/%zz", want: { status: 400, code: "invalid_request" } }],
  [
    "broken percent-encoding in a known path",
    { path: "/v1/agents/%ff", want: { status: 400, code: "invalid_request" } },
  ],
  ["NUL in the path", { path: "/v1/agents/%00", want: { status: 400, code: "invalid_request" } }],
  ["NUL in the query", { path: "/v1/agents?filter=id=%00", want: { status: 400, code: "invalid_request" } }],
  ["half a character in the query", { path: "/v1/agents?filter=id=%ed%a0%80", want: { status: 200 } }],
  [
    "an answer in XML",
    { path: "/v1/agents", headers: { accept: "application/xml" }, want: { status: 406, code: "not_acceptable" } },
  ],
  [
    "a body in YAML",
    {
      method: "PUT",
      path: "/v1/agents/x",
      body: "spec: {}",
      headers: { "content-type": "application/yaml" },
      want: { status: 415, code: "unsupported_media_type" },
    },
  ],
  [
    "a body in Latin-1",
    {
      method: "PUT",
      path: "/v1/agents/x",
      body: '{"spec":{}}',
      headers: { "content-type": "application/json; charset=latin1" },
      want: { status: 415, code: "unsupported_media_type" },
    },
  ],
  [
    "a compressed body",
    {
      method: "PUT",
      path: "/v1/agents/x",
      body: "x",
      headers: { "content-encoding": "gzip" },
      want: { status: 415, code: "unsupported_media_type" },
    },
  ],
  [
    "a merge patch as JSON",
    {
      method: "PATCH",
      path: "/v1/agents/x",
      body: '{"spec":{}}',
      headers: { "content-type": "application/json" },
      want: { status: 415, code: "unsupported_media_type" },
    },
  ],
  [
    "a body that is not JSON",
    { method: "PUT", path: "/v1/agents/x", body: '{"spec":', want: { status: 400, code: "invalid_json" } },
  ],
  ["no body", { method: "PUT", path: "/v1/agents/x", want: { status: 400, code: "invalid_json" } }],
  [
    "a body that is not UTF-8",
    {
      method: "PUT",
      path: "/v1/agents/x",
      body: Buffer.from([0x22, 0xff, 0x22]),
      want: { status: 400, code: "invalid_json" },
    },
  ],
  [
    "a body that is an array",
    { method: "PUT", path: "/v1/agents/x", body: "[]", want: { status: 400, code: "invalid_request" } },
  ],
  [
    "a body that is null",
    { method: "PUT", path: "/v1/agents/x", body: "null", want: { status: 400, code: "invalid_request" } },
  ],
  [
    "NUL in a text",
    {
      method: "PUT",
      path: "/v1/agents/x",
      body: '{"spec":{"description":"a\\u0000b"}}',
      want: { status: 400, code: "invalid_request", pointer: "/spec/description" },
    },
  ],
  [
    "a number that would become another one",
    {
      method: "PUT",
      path: "/v1/applications/x",
      body: '{"spec":{"agent":"a","destination":{},"source":{"repoUrl":"https://a.b/c","helm":{"valuesObject":{"id":9007199254740993}}}}}',
      want: { status: 400, code: "invalid_request", pointer: "/spec/source/helm/valuesObject/id" },
    },
  ],
  [
    "half a character in a text",
    {
      method: "PUT",
      path: "/v1/agents/x",
      body: '{"spec":{"description":"\\ud800"}}',
      want: { status: 400, code: "invalid_request", pointer: "/spec/description" },
    },
  ],
  [
    "__proto__",
    {
      method: "PATCH",
      path: "/v1/agents/x",
      body: '{"spec":{"__proto__":{"polluted":1}}}',
      want: { status: 400, code: "invalid_request" },
    },
  ],
  [
    "too deep",
    {
      method: "PUT",
      path: "/v1/agents/x",
      body: "[".repeat(200) + "]".repeat(200),
      want: { status: 400, code: "invalid_request" },
    },
  ],
  [
    "too many members",
    {
      method: "PUT",
      path: "/v1/agents/x",
      body: `[${"1,".repeat(60_000)}1]`,
      want: { status: 400, code: "invalid_request" },
    },
  ],
  [
    "a body too large",
    {
      method: "PUT",
      path: "/v1/agents/x",
      body: `{"spec":{"description":"${"x".repeat(1024 * 1024)}"}}`,
      want: { status: 413, code: "body_too_large" },
    },
  ],
  [
    "no credential",
    { path: "/v1/agents", headers: { authorization: "" }, want: { status: 401, code: "unauthenticated" } },
  ],
  [
    "a credential of another kind",
    { path: "/v1/agents", headers: { authorization: "Basic eDp5" }, want: { status: 401, code: "unauthenticated" } },
  ],
  [
    "a key of an account that is not there",
    {
      path: "/v1/agents",
      headers: { authorization: `Bearer opk_nobody_${"A".repeat(43)}` },
      want: { status: 401, code: "unauthenticated" },
    },
  ],
];
test.each(cases)("%s", async (_, { method = "GET", path, body, headers = {}, want }) => {
  const got = await s.ask(method, path, { ...(body === undefined ? {} : { raw: body }), headers });
  expect({ status: got.status, ...got.body }).toMatchObject(want);
  if (got.status >= 400) {
    expect(got.headers.get("content-type")).toMatch(/^application\/problem\+json/);
    expect(got.body.instance).toBe(got.headers.get("request-id"));
  }
  if (got.status === 405) expect(got.headers.get("allow")).toBe("DELETE, GET, PATCH, PUT");
});

describe("what Node's parser refuses is a Problem too", () => {
  test.each<[string, () => string | Buffer, number, string]>([
    ["garbage", () => "\x00\x01\x02 nonsense\r\n\r\n", 400, "invalid_request"],
    [
      "header fields too large",
      () => `${head("GET /v1/agents HTTP/1.1")}X: ${"x".repeat(20_000)}\r\n\r\n`,
      431,
      "header_fields_too_large",
    ],
    [
      "two lengths",
      () => `${head("PUT /v1/agents/x HTTP/1.1")}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello`,
      400,
      "invalid_request",
    ],
    [
      "a length and chunks",
      () => `${head("PUT /v1/agents/x HTTP/1.1")}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      400,
      "invalid_request",
    ],
    ["CONNECT", () => "CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n", 405, "method_not_allowed"],
    [
      "an odd Expect",
      () => `${head("PUT /v1/agents/x HTTP/1.1")}Expect: miracles\r\nContent-Length: 2\r\n\r\n{}`,
      400,
      "invalid_request",
    ],
    ["no Host", () => "GET /v1/agents HTTP/1.1\r\n\r\n", 400, "invalid_request"],
    ["an unknown method", () => `${head("BREW /v1/agents HTTP/1.1")}\r\n`, 400, "invalid_request"],
    [
      "broken chunks",
      () =>
        `${head("PUT /v1/agents/x HTTP/1.1")}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n`,
      400,
      "invalid_request",
    ],
    [
      "a chunked body that is too large",
      () =>
        `${head("PUT /v1/agents/x HTTP/1.1")}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n200000\r\n${"x".repeat(0x200000)}`,
      413,
      "body_too_large",
    ],
  ])("%s", async (_, request, status, code) => {
    const got = await raw(request());
    expect(got).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(got).toMatch(/content-type: application\/problem\+json/i);
    expect(got).toContain(`"code":"${code}"`);
  });
});

test("HEAD answers like GET, without a body", async () => {
  const got = await s.ask("HEAD", "/healthz");
  expect([got.status, got.text]).toEqual([200, ""]);
});

test("the page for browsers has no script and repeats no strange host", async () => {
  const got = await s.ask("GET", "/");
  expect(got.text).toContain("outpost login");
  expect(got.text).not.toMatch(/<script/i);
  expect(got.headers.get("content-security-policy")).toContain("default-src 'none'");
  expect(await raw('GET / HTTP/1.1\r\nHost: "><script>\r\nConnection: close\r\n\r\n')).not.toContain("<script>");
});

test("health, readiness and metrics", async () => {
  expect((await s.ask("GET", "/healthz", { key: undefined })).text).toBe("ok\n");
  expect((await s.ask("GET", "/readyz")).status).toBe(200);
  expect((await s.ask("GET", "/metrics")).text).toContain("outpost_requests_total");
});

test("errors quote no credential: not in answers, not in the audit trail", async () => {
  const canary = "canary-7f3e";
  const body = {
    spec: { agent: "x", url: `https://user:${canary}@h/x`, credentials: { password: canary, nonsense: canary } },
  };
  const got = await s.ask("PUT", "/v1/repositories/x", { body });
  expect(got.status).toBe(400);
  expect(got.text).not.toContain(canary);
  expect((await s.ask("GET", "/v1/audit")).text).not.toContain(canary);
});

test("audit: one line for each write that was accepted, refused or denied", async () => {
  const { key } = (await s.ask("POST", "/v1/apikeys", { body: { id: "looker", role: "viewer" } })).body;
  await s.ask("PUT", "/v1/agents/audited", { body: { spec: {} } });
  await s.ask("PUT", "/v1/agents/audited", { body: { spec: {} }, headers: { "if-none-match": "*" } });
  await s.ask("PUT", "/v1/agents/audited", { body: { spec: {} }, key });
  await s.ask("GET", "/v1/agents/audited", { key });
  const { items } = (await s.ask("GET", "/v1/audit?limit=3")).body;
  expect(items).toMatchObject([
    { actor: "key:looker", operation: "putAgent", outcome: "denied", code: "forbidden", target: "-/-/audited" },
    { actor: "key:admin", operation: "putAgent", outcome: "refused", code: "already_exists" },
    { actor: "key:admin", operation: "putAgent", outcome: "accepted", target: "-/-/audited" },
  ]);
});

test("a call that the contract refuses is audited in the scope it named, where its caller may see that", async () => {
  await s.ask("PUT", "/v1/organizations/named", { body: { spec: {} } });
  await s.ask("PUT", "/v1/projects/p?org=named", { body: { spec: {} } });
  await s.ask("PUT", "/v1/organizations/other", { body: { spec: {} } });
  const { key } = (await s.ask("POST", "/v1/apikeys?org=named", { body: { id: "bound", role: "editor" } })).body;
  const refused = async (query: string) => {
    expect((await s.ask("PUT", `/v1/agents/crooked${query}`, { key, body: { spec: { mode: 7 } } })).status).toBe(400);
    return (await s.ask("GET", "/v1/audit?limit=1")).body.items[0];
  };
  expect(await refused("?org=named")).toMatchObject({
    org: "named",
    actor: "key:named/bound",
    target: "named/-/crooked",
    outcome: "refused",
  });
  expect(await refused("?org=named&project=p")).toMatchObject({
    org: "named",
    project: "p",
    target: "named/p/crooked",
  });
  for (const query of ["?org=other", "?org=named&org=other", "?org=Named", "?project=p", ""]) {
    const line = await refused(query);
    expect(line).toMatchObject({ actor: "key:named/bound", target: "-/-/crooked" });
    expect(line.org).toBeUndefined();
  }
});

test("keys: made once, shown once, dead at once when deleted, and the last admin key stays", async () => {
  const made = await s.ask("POST", "/v1/apikeys", { body: { id: "temp", role: "admin", expiresIn: "2d" } });
  expect(made).toMatchObject({
    status: 201,
    body: { id: "temp", role: "admin", key: expect.stringMatching(/^opk_default_/) },
  });
  const unsaid = (await s.ask("POST", "/v1/apikeys", { body: { id: "unsaid", role: "viewer" } })).body;
  expect(Date.parse(unsaid.expiresAt) - Date.parse(unsaid.createdAt)).toBe(90 * 86_400_000);
  expect((await s.ask("GET", "/v1/apikeys")).text).not.toContain(made.body.key.slice(12));
  expect(await s.ask("POST", "/v1/apikeys", { body: { id: "temp", role: "viewer" } })).toMatchObject({
    status: 409,
    body: { code: "already_exists" },
  });
  expect((await s.ask("DELETE", "/v1/apikeys/temp")).status).toBe(204);
  expect((await s.ask("GET", "/v1/whoami", { key: made.body.key })).status).toBe(401);
  expect(await s.ask("DELETE", "/v1/apikeys/admin")).toMatchObject({ status: 409, body: { code: "conflict" } });
  expect((await s.ask("GET", "/v1/whoami")).status).toBe(200);
});

test("keys that end: none outlives its maker, and none can remove the last admin key that has no end", async () => {
  const make = async (id: string, expiresIn: string | undefined, key?: string) =>
    s.ask("POST", "/v1/apikeys", { body: { id, role: "admin", expiresIn }, ...(key ? { key } : {}) });
  const short = (await make("short", "1h")).body;
  expect(await make("longer", "61m", short.key)).toMatchObject({
    status: 422,
    body: { code: "invalid_field", pointer: "/expiresIn" },
  });
  expect(await make("shorter", "30m", short.key)).toMatchObject({ status: 201 });
  expect(await make("same", undefined, short.key)).toMatchObject({ status: 201, body: { expiresAt: short.expiresAt } });
  expect(await s.ask("DELETE", "/v1/apikeys/admin", { key: short.key })).toMatchObject({
    status: 409,
    body: { code: "conflict" },
  });
  expect((await s.ask("GET", "/v1/whoami")).status).toBe(200);
  for (const id of ["short", "shorter", "same"]) expect((await s.ask("DELETE", `/v1/apikeys/${id}`)).status).toBe(204);
});

test("the contract is served to anybody, packed where that is understood, and found from the page and from an error", async () => {
  for (const encoding of ["gzip", "identity"]) {
    const answer = await fetch(`${s.url}/openapi.json`, { headers: { "accept-encoding": encoding } });
    expect([answer.status, answer.headers.get("content-encoding")]).toEqual([200, encoding === "gzip" ? "gzip" : null]);
    expect(((await answer.json()) as { paths: object }).paths).toHaveProperty("/v1/applications/{id}");
  }
  expect(await (await fetch(s.url)).text()).toContain('href="/openapi.json"');
  expect(((await (await fetch(`${s.url}/v1/nothing`)).json()) as { detail: string }).detail).toContain("/openapi.json");
});
