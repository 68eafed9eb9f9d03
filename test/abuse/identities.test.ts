import { createHmac } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type OperationRow, operations } from "../../openapi/contract/operations.ts";
import { agentsOf } from "../../server/control/testing/agents.ts";
import { startService, type TestService } from "../../server/control/testing/service.ts";
import { TestWorker } from "../../server/control/testing/worker.ts";

// Callers cannot choose who they are or what they speak for: not by a body, an address or a token of another kind.
let s: TestService;
const key: Record<string, string> = {};
const { put, agent, tokenOf } = agentsOf(() => s);
let theirs: { path: string; uid: string }[] = [];
beforeAll(async () => {
  s = await startService();
  for (const org of ["o1", "o2"]) {
    await put(`/v1/organizations/${org}`, {});
    await put(`/v1/projects/p1?org=${org}`, {});
    await agent("a", `?org=${org}`);
    for (const [collection, spec] of Object.entries(SPECS)) await put(`/v1/${collection}/one?org=${org}`, spec);
    key[org] = (await s.ask("POST", `/v1/apikeys?org=${org}`, { body: { id: "editor", role: "editor" } })).body.key;
  }
  theirs = await Promise.all(
    Object.keys(SPECS).map(async (collection) => {
      const path = `/v1/${collection}/one?org=o2`;
      return { path, uid: (await s.ask("GET", path)).body.uid };
    }),
  );
}, 60_000);
afterAll(() => s?.stop());

const SPECS: Record<string, object> = {
  clusters: { agent: "org.a", server: "https://h.example" },
  repositories: { agent: "org.a", url: "https://h.example/x" },
  appprojects: { agent: "org.a" },
  applications: { agent: "org.a", destination: {}, source: { repoUrl: "https://h.example/x", path: "." } },
};
const standing = async () =>
  JSON.stringify(await Promise.all(theirs.map(async ({ path }) => (await s.ask("GET", path)).body)));

test.each(Object.keys(SPECS))(
  "the right to change one of %s is none to change another, whatever body or address name",
  async (collection) => {
    const before = await standing();
    const { uid } = theirs.find(({ path }) => path.includes(`/${collection}/`))!;
    const spec = { ...SPECS[collection], description: "mine" };
    const strange = {
      id: "one",
      org: "o2",
      project: "",
      scope: "o2",
      uid,
      account: "default",
      metadata: { id: "one", org: "o2", uid },
    };
    const bodies = [
      ...Object.entries(strange).map(([name, value]) => ({ spec, [name]: value })),
      { spec: { ...spec, ...strange } },
      { spec: { ...SPECS[collection], agent: `o2.a` } },
      { spec: { ...SPECS[collection], agent: "account.a" } },
    ];
    const paths = [
      `/v1/${collection}/one?org=o1`,
      `/v1/${collection}/one?org=o1&org=o2`,
      `/v1/${collection}/one?org=o2&org=o1`,
      `/v1/${collection}/one?org=o1%26org%3Do2`,
      `/v1/${collection}/one?org=o2`,
      `/v1/${collection}/one`,
      `/v1/${collection}/${uid}?org=o1`,
      `/v1/${collection}/..%2f..%2fone?org=o1`,
      `/v1/${collection}/one%3Forg=o2?org=o1`,
      `/v1/${collection}/o2%2Fone?org=o1`,
    ];
    const wrong: string[] = [];
    const sent = (method: string, path: string) => {
      if (method === "DELETE") return [undefined];
      return path === paths[0] ? bodies : [{ spec }];
    };
    for (const path of paths)
      for (const method of ["PUT", "PATCH", "DELETE"])
        for (const body of sent(method, path)) {
          // No case here deletes its own.
          if (method === "DELETE" && path === paths[0]) continue;
          const answer = await s.ask(method, path, { key: key.o1, ...(body ? { body } : {}) });
          if (answer.status >= 500 || answer.text.includes(uid))
            wrong.push(`${method} ${path} ${JSON.stringify(body)}: ${answer.status} ${answer.text}`);
        }
    expect(wrong).toEqual([]);
    expect(await standing()).toBe(before);
  },
);

test("nor does a report of an agent, or a key that is asked for, reach another's", async () => {
  const before = await standing();
  const worker = await new TestWorker(s.url, "other-0", "cluster-of-other").enrol(await tokenOf("a", "?org=o1"));
  await worker.open();
  const reports = theirs.flatMap(({ uid }) => [
    { uid, revision: 1, generation: 1, state: "Delivered", status: { sync: { status: "Synced" } } },
    { uid, revision: 1, generation: 1, state: "Gone" },
    { uid, revision: 1, gone: true },
  ]);
  for (const report of reports) {
    const got = await s.ask("POST", "/v1/worker/exchange", {
      key: worker.session,
      body: { wait: 0, free: 0, reports: [report] },
    });
    expect(got.status).toBeLessThan(500);
  }
  expect(await standing()).toBe(before);
  for (const body of [
    { id: "more", role: "admin", org: "o2" },
    { id: "more", role: "admin", scope: { org: "o2" } },
    { id: "more", role: "owner" },
  ])
    expect((await s.ask("POST", "/v1/apikeys?org=o1", { key: key.o1, body })).status).toBeGreaterThanOrEqual(400);
});

const b64 = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
const claims = { sub: "admin", role: "admin", account: "default", aud: "outpost", exp: 4_000_000_000 };
const signed = (alg: string, secret: string) => {
  const text = `${b64({ alg, typ: "JWT" })}.${b64(claims)}`;
  return `${text}.${createHmac("sha256", secret).update(text).digest("base64url")}`;
};
const FORGED = (): Record<string, string>[] =>
  [
    "Bearer",
    "Bearer ",
    "Bearer nothing",
    "Bearer null",
    "Bearer undefined",
    "Bearer [object Object]",
    "nothing",
    `Bearer ${b64({ alg: "none" })}.${b64(claims)}.`,
    `Bearer ${signed("HS256", "")}`,
    `Bearer ${signed("HS256", "secret")}`,
    `Basic ${Buffer.from(`admin:${s.admin}`).toString("base64")}`,
    `Token ${s.admin}`,
    `Bearer ${s.admin.slice(0, -1)}`,
    `Bearer ${s.admin}x`,
    `Bearer ${s.admin.toUpperCase()}`,
    `Bearer ${s.admin.replace("opk_", "ows_")}`,
    `Bearer ${s.admin.replace("default", "other")}`,
    `Bearer nothing, Bearer ${s.admin}`,
  ]
    .map((authorization): Record<string, string> => ({ authorization }))
    .concat([
      { cookie: `session=${s.admin}; token=${s.admin}` },
      { "x-api-key": s.admin },
      { "x-forwarded-user": "admin", "x-remote-user": "admin" },
    ]);

test("no forged, foreign or misplaced token opens any operation, and all are told the same", async () => {
  const forged = FORGED();
  const bodies = new Set<string>();
  const open: string[] = [];
  const rows = Object.entries(operations as Record<string, OperationRow>).filter(([, row]) => row.access !== "public");
  expect(rows.length).toBeGreaterThan(80);
  for (const [i, [name, row]] of rows.entries()) {
    const path = row.path.replace(/\{\w+\}/g, "one");
    // Each operation gets some of them, and each of them some operations; the first gets all.
    const some = i === 0 ? forged : [0, 5, 11].map((n) => forged[(i + n) % forged.length]!);
    for (const headers of some) {
      const answer = await s.ask(row.method, `${path}?access_token=${s.admin}&key=${s.admin}`, {
        key: undefined,
        headers,
      });
      if (answer.status !== 401)
        open.push(`${name} ${JSON.stringify(headers)}: ${answer.status} ${answer.text.slice(0, 200)}`);
      if (row.method !== "HEAD")
        bodies.add(JSON.stringify([row.access === "worker", { ...answer.body, instance: "" }]));
    }
  }
  expect(open).toEqual([]);
  // One answer for people's operations, and one for workers'.
  expect(bodies.size).toBe(2);
});

test("another page's form or script changes nothing: no cookie counts, only JSON is taken, and no other origin is let in", async () => {
  const path = "/v1/organizations/forged";
  for (const type of [
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "text/plain; application/json",
  ]) {
    const answer = await s.ask("PUT", path, {
      raw: '{"spec":{}}',
      headers: { "content-type": type, origin: "https://evil.example" },
    });
    expect([type, answer.status]).toEqual([type, 415]);
  }
  const asked = {
    origin: "https://evil.example",
    "access-control-request-method": "PUT",
    "access-control-request-headers": "authorization",
  };
  for (const [method, headers] of [
    ["OPTIONS", asked],
    ["GET", { origin: "https://evil.example" }],
  ] as const) {
    const answer = await s.ask(method, "/v1/organizations", { headers });
    expect(
      [...answer.headers.keys()].filter((name) => name.startsWith("access-control-") || name === "set-cookie"),
    ).toEqual([]);
  }
  expect((await s.ask("GET", path)).status).toBe(404);
});

test("keys that come and go, sessions that open and wrong keys by the hundred, all at once: each is what it is, and nothing breaks", async () => {
  const wrong: string[] = [];
  const expectStatus = async (what: string, want: number, asked: Promise<{ status: number }>) => {
    const { status } = await asked;
    if (status !== want) wrong.push(`${what}: ${status}`);
  };
  const who = (text: string) => s.ask("GET", "/v1/whoami", { key: text });
  expect((await who(s.admin)).status).toBe(200);
  const comeAndGo = async (n: number) => {
    for (let i = 0; i < 4; i++) {
      const id = `k-${n}-${i}`;
      const { body } = await s.ask("POST", "/v1/apikeys?org=o1", { body: { id, role: "viewer" } });
      await Promise.all(Array.from({ length: 4 }, () => expectStatus(`${id} lives`, 200, who(body.key))));
      await expectStatus(`${id} goes`, 204, s.ask("DELETE", `/v1/apikeys/${id}?org=o1`));
      await Promise.all(Array.from({ length: 4 }, () => expectStatus(`${id} is gone`, 401, who(body.key))));
    }
  };
  const sessions = async (n: number) => {
    const worker = await agent(`s-${n}`, "?org=o2");
    for (let i = 0; i < 4; i++) {
      await worker.open();
      await expectStatus(
        "a session beats",
        200,
        s.ask("POST", "/v1/worker/heartbeat", { key: worker.session, body: { leases: [] } }),
      );
      await expectStatus("a session is not a key", 401, who(worker.session));
    }
  };
  const guess = async (n: number) => {
    for (let i = 0; i < 40; i++) await expectStatus("a guess", 401, who(`opk_a${n}-${i}_${"A".repeat(43)}`));
    await expectStatus("an honest key", 200, who(s.admin));
  };
  await Promise.all([0, 1, 2, 3].flatMap((n) => [comeAndGo(n), sessions(n), guess(n)]));
  expect(wrong).toEqual([]);
  expect((await s.ask("GET", "/readyz")).status).toBe(200);
});

test("what nobody may guess comes from the system's source of random numbers: the other one only spreads times", () => {
  const cwd = fileURLToPath(new URL("../../server", import.meta.url));
  const files = (readdirSync(cwd, { recursive: true }) as string[]).filter(
    (file) => file.endsWith(".ts") && !/test/.test(file),
  );
  expect(files.length).toBeGreaterThan(300);
  const users = files.filter((file) => readFileSync(`${cwd}/${file}`, "utf8").includes("Math.random"));
  expect(users.sort()).toEqual([
    "agent/controller/argo-cache/schedule.ts",
    "agent/controller/cluster/live.ts",
    "kube/watch.ts",
    "link/transport/retry.ts",
  ]);
});
