import { generateSealKeys, open } from "../../../openapi/seal.ts";
import { eventually, startService, type TestService } from "../testing/service.ts";
import { TestWorker } from "../testing/worker.ts";

let s: TestService;
beforeAll(async () => {
  s = await startService();
}, 60_000);
afterAll(() => s?.stop());

const put = (path: string, spec: object) => s.ask("PUT", path, { body: { spec } });
const tokenOf = async (agent: string, query = "") =>
  (await s.ask("POST", `/v1/agents/${agent}/tokens${query}`, { body: {} })).body.token as string;
const agent = async (id: string, query = "") => {
  await put(`/v1/agents/${id}${query}`, {});
  return new TestWorker(s.url, `${id}-0`, `cluster-of-${id}`).enrol(await tokenOf(id, query)).then((w) => w.open());
};

describe("enrolment", () => {
  test("a token makes one identity; the same worker may ask again, another is refused and audited", async () => {
    await put("/v1/agents/e1", {});
    const token = await tokenOf("e1");
    const worker = await new TestWorker(s.url).enrol(token);
    expect((await worker.tryEnrol(token)).body.worker).toBe(worker.worker);
    expect(await new TestWorker(s.url).tryEnrol(token)).toMatchObject({ status: 401, body: { code: "token_invalid" } });
    const audit = await s.ask("GET", "/v1/audit?limit=5");
    expect(audit.body.items[0]).toMatchObject({ operation: "enrolWorker", outcome: "denied", code: "token_invalid", target: "e1" });
    expect(audit.text).not.toContain(token.split("_")[2]);
  });
  test.each<[string, (token: string) => string | Promise<string>]>([
    ["unknown", (t) => t.replace(/default-[0-9a-f]+/, "default-0000000000000000")],
    ["of another account", (t) => t.replace("default-", "other-")],
    ["of no account", (t) => t.replace("default-", "")],
  ])("a token that is %s is refused", async (_, change) => {
    await put("/v1/agents/e2", {});
    expect(await new TestWorker(s.url).tryEnrol(await change(await tokenOf("e2")))).toMatchObject({
      status: 401,
      body: { code: "token_invalid" },
    });
  });
  test("a proof by another key, a changed field and a used nonce are refused", async () => {
    await put("/v1/agents/e3", {});
    const token = await tokenOf("e3");
    const forged = token.replace(/_[A-Za-z0-9_-]{43}_/, `_${"A".repeat(43)}_`);
    expect(await new TestWorker(s.url).tryEnrol(forged)).toMatchObject({ status: 401, body: { code: "worker_proof_invalid" } });
    expect(await new TestWorker(s.url).tryEnrol(token, { instance: "other" })).toMatchObject({
      status: 401,
      body: { code: "worker_proof_invalid" },
    });
    expect(await new TestWorker(s.url).tryEnrol(token, { nonce: "x" })).toMatchObject({
      status: 401,
      body: { code: "worker_proof_invalid" },
    });
    expect(await new TestWorker(s.url).tryEnrol(token, { signKey: "AA" })).toMatchObject({
      status: 401,
      body: { code: "worker_proof_invalid" },
    });
    expect((await new TestWorker(s.url).tryEnrol(token)).status).toBe(200);
  });
  test("a revoked token and an expired one are refused", async () => {
    await put("/v1/agents/e4", {});
    const token = await tokenOf("e4");
    const [item] = (await s.ask("GET", "/v1/agents/e4/tokens")).body.items;
    expect((await s.ask("DELETE", `/v1/agents/e4/tokens/${item.id}`)).status).toBe(204);
    expect(await new TestWorker(s.url).tryEnrol(token)).toMatchObject({ status: 401, body: { code: "token_invalid" } });
    const short = await tokenOf("e4");
    await s.db.query("update tokens set expires_at = now() - interval '1 second' where account = 'default' and revoked_at is null");
    expect(await new TestWorker(s.url).tryEnrol(short)).toMatchObject({ status: 401, body: { code: "token_invalid" } });
  });
});

describe("sessions", () => {
  test("the agent shows as connected with its key and cluster; a newer session of the same instance ends the older", async () => {
    const w = await agent("s1");
    const got = await s.ask("GET", "/v1/agents/s1");
    expect(got.body.status).toMatchObject({
      connected: true,
      clusterUid: "cluster-of-s1",
      sealKey: { publicKey: w.seal.publicKey },
      version: "0.1.0",
    });
    const old = w.session;
    await w.open();
    expect(await s.ask("POST", "/v1/worker/heartbeat", { key: old, body: { leases: [] } })).toMatchObject({
      status: 401,
      body: { code: "session_expired" },
    });
    expect((await w.call("heartbeat", { leases: [] })).status).toBe(200);
  });
  test("a copy of the identity in another cluster is refused and told so", async () => {
    const w = await agent("s2");
    w.clusterUid = "another";
    expect(await w.tryOpen()).toMatchObject({ status: 409, body: { code: "worker_wrong_cluster" } });
  });
  test("a signature by another key, or over other fields, opens nothing", async () => {
    const w = await agent("s3");
    expect(await w.tryOpen({ instance: "x" })).toMatchObject({ status: 401, body: { code: "worker_proof_invalid" } });
    expect(await w.tryOpen({ worker: "default-000000000000000000000000" })).toMatchObject({
      status: 401,
      body: { code: "worker_proof_invalid" },
    });
  });
  test("a poll ends when its session does, and a session opens no person's operation", async () => {
    const w = await agent("s4");
    const poll = w.exchange({ wait: 20 }).catch((error: Error) => error.message);
    await w.tryOpen();
    expect(await poll).toMatch(/session_expired/);
    await w.open();
    expect((await s.ask("GET", "/v1/agents", { key: w.session })).status).toBe(401);
    expect((await s.ask("POST", "/v1/worker/heartbeat", { body: { leases: [] } })).status).toBe(401);
  });
});

describe("delivery", () => {
  test("an application arrives signed, with its references resolved, and its status comes back", async () => {
    const w = await agent("d1");
    await put("/v1/repositories/d1-repo", { agent: "d1", url: "https://git.example/d1.git" });
    await put("/v1/clusters/d1-cluster", { agent: "d1", server: "https://k8s.example" });
    const app = await put("/v1/applications/d1-app", {
      agent: "d1",
      destination: { cluster: "d1-cluster", namespace: "n" },
      sources: [
        { repository: "d1-repo", path: "a" },
        { repoUrl: "https://git.example/x.git", ref: "x" },
      ],
    });
    const { objects } = await w.exchange();
    expect(objects.map((o) => `${o.op} ${o.collection} ${o.key}`)).toEqual([
      "put clusters -/-/d1-cluster",
      "put repositories -/-/d1-repo",
      "put applications -/-/d1-app",
    ]);
    expect(objects[2]).toMatchObject({
      name: "d1-app",
      uid: app.body.uid,
      resolved: { cluster: { name: "d1-cluster", server: "https://k8s.example" }, repositories: ["https://git.example/d1.git", null] },
    });
    // Sent and not yet acknowledged: a poll waits instead of getting it again at once.
    expect((await w.exchange()).objects).toHaveLength(0);
    await w.acknowledge(objects);
    expect((await s.ask("GET", "/v1/applications/d1-app")).body.status).toMatchObject({ delivery: { state: "Delivered" } });
    const report = {
      collection: "applications" as const,
      key: objects[2]!.key,
      uid: objects[2]!.uid,
      revision: 1,
      status: {
        observedGeneration: objects[2]!.generation,
        sync: { status: "Synced" },
        health: { status: "Healthy" },
        nonsense: 1,
        delivery: { state: "Refused" },
      },
    };
    await w.exchange({ reports: [report] });
    const seen = (await s.ask("GET", "/v1/applications/d1-app")).body;
    expect(seen.status).toMatchObject({
      observedGeneration: seen.generation,
      sync: { status: "Synced" },
      health: { status: "Healthy" },
      delivery: { state: "Delivered" },
      reportedAt: expect.any(String),
    });
    // The same report once more, or an older one, changes nothing.
    await w.exchange({ reports: [report, { ...report, revision: 0 + 1, status: { health: { status: "Degraded" } } }] });
    expect((await s.ask("GET", "/v1/applications/d1-app")).body.version).toBe(seen.version);
  });

  test("a changed repository address reaches the applications that use it, without a new generation of theirs", async () => {
    const w = await agent("d2");
    await put("/v1/repositories/d2-repo", { agent: "d2", url: "https://git.example/old.git" });
    await put("/v1/applications/d2-app", { agent: "d2", destination: {}, source: { repository: "d2-repo", path: "." } });
    const first = await w.exchange();
    await w.acknowledge(first.objects);
    await put("/v1/repositories/d2-repo", { agent: "d2", url: "https://git.example/new.git" });
    const { objects } = await w.exchange();
    const app = objects.find((o) => o.collection === "applications")!;
    expect(app.resolved!.repositories).toEqual(["https://git.example/new.git"]);
    expect(app.generation).toBeGreaterThan(first.objects.find((o) => o.collection === "applications")!.generation);
    expect((await s.ask("GET", "/v1/applications/d2-app")).body.generation).toBe(1);
  });

  test("only a tombstone deletes: the object is going until the agent says so, and is gone then", async () => {
    const w = await agent("d3");
    await put("/v1/applications/d3-app", { agent: "d3", destination: {}, source: { repoUrl: "https://h/x", path: "." } });
    await w.acknowledge((await w.exchange()).objects);
    const going = await s.ask("DELETE", "/v1/applications/d3-app?cascade=background");
    expect(going).toMatchObject({
      status: 202,
      body: { deletionRequestedAt: expect.any(String), status: { delivery: { state: "Deleting" } } },
    });
    expect(
      await put("/v1/applications/d3-app", { agent: "d3", destination: {}, source: { repoUrl: "https://h/x", path: "." } }),
    ).toMatchObject({ status: 409, body: { code: "being_deleted" } });
    expect((await s.ask("DELETE", "/v1/agents/d3")).body.code).toBe("in_use");
    const { objects } = await w.exchange();
    expect(objects).toMatchObject([{ op: "delete", cascade: "background" }]);
    expect((await s.ask("GET", "/v1/applications/d3-app")).status).toBe(200);
    await w.acknowledge(objects);
    expect((await s.ask("GET", "/v1/applications/d3-app")).status).toBe(404);
    expect((await s.db.query("select * from deliveries where id = 'd3-app'")).length).toBe(0);
    expect((await s.ask("DELETE", "/v1/agents/d3")).status).toBe(204);
    expect((await w.call("heartbeat", { leases: [] })).status).toBe(401);
  });

  test("a forced delete does not wait, and a report for what is gone is passed over", async () => {
    const w = await agent("d4");
    await put("/v1/applications/d4-app", { agent: "d4", destination: {}, source: { repoUrl: "https://h/x", path: "." } });
    const { objects } = await w.exchange();
    expect((await s.ask("DELETE", "/v1/applications/d4-app?force=true")).status).toBe(204);
    await w.acknowledge(objects);
    expect((await s.ask("GET", "/v1/applications/d4-app")).status).toBe(404);
  });

  test("`known` decides what is sent again; nothing is deleted for being absent", async () => {
    const w = await agent("d5");
    for (const id of ["d5-a", "d5-b"])
      await put(`/v1/applications/${id}`, { agent: "d5", destination: {}, source: { repoUrl: "https://h/x", path: "." } });
    const { objects } = await w.exchange();
    await w.acknowledge(objects);
    await w.open();
    const known = objects.map(({ collection, key, uid, generation }) => ({ collection, key, uid, generation }));
    expect((await w.exchange({ known })).objects).toHaveLength(0);
    const lost = await w.exchange({ known: known.slice(1) });
    expect(lost.objects.map((o) => `${o.op} ${o.key}`)).toEqual([`put ${objects[0]!.key}`]);
    expect((await w.exchange({ known: [] })).objects).toHaveLength(2);
    // The agent holds something newer than the service knows, which was restored from a backup: it is sent anew with a higher number.
    const ahead = await w.exchange({ known: known.map((k) => ({ ...k, generation: 50 })) });
    expect(ahead.objects.map((o) => o.generation)).toEqual([51, 51]);
  });

  test("a report of another agent's object is passed over", async () => {
    const [w, thief] = [await agent("d6"), await agent("d7")];
    await put("/v1/applications/d6-app", { agent: "d6", destination: {}, source: { repoUrl: "https://h/x", path: "." } });
    const { objects } = await w.exchange();
    await s.ask("DELETE", "/v1/applications/d6-app");
    await thief.exchange({
      reports: objects.map((o) => ({ collection: o.collection, key: o.key, uid: o.uid, generation: 99, outcome: "deleted" as const })),
    });
    expect((await s.ask("GET", "/v1/applications/d6-app")).status).toBe(200);
  });

  test("names of two scopes never collide at one agent, and a scope's key names it", async () => {
    await put("/v1/organizations/dorg", {});
    const w = await agent("d8");
    for (const query of ["", "?org=dorg"])
      await put(`/v1/applications/same${query}`, {
        agent: query ? "account.d8" : "d8",
        destination: {},
        source: { repoUrl: "https://h/x", path: "." },
      });
    const { objects } = await w.exchange();
    expect(objects.map((o) => o.key)).toEqual(["-/-/same", "dorg/-/same"]);
    expect(objects[0]!.name).toBe("same");
    expect(objects[1]!.name).toMatch(/^same-[0-9a-f]{6}$/);
  });

  test("a poll that waits is woken by a change", async () => {
    const w = await agent("d9");
    await w.exchange();
    const poll = w.exchange({ wait: 20 });
    const started = Date.now();
    await put("/v1/applications/d9-app", { agent: "d9", destination: {}, source: { repoUrl: "https://h/x", path: "." } });
    expect((await poll).objects).toHaveLength(1);
    expect(Date.now() - started).toBeLessThan(2_000);
  });

  test("a refusal shows in the object's status with its reason, and is not sent again until something changes", async () => {
    const w = await agent("d10");
    await put("/v1/applications/d10-app", { agent: "d10", destination: {}, source: { repoUrl: "https://h/x", path: "." } });
    const [o] = (await w.exchange()).objects;
    await w.exchange({
      reports: [
        {
          collection: "applications",
          key: o!.key,
          uid: o!.uid,
          generation: o!.generation,
          outcome: "refused",
          reason: "Forbidden",
          message: "may not create applications",
        },
      ],
    });
    expect((await s.ask("GET", "/v1/applications/d10-app")).body.status.delivery).toEqual({
      state: "Refused",
      reason: "Forbidden",
      message: "may not create applications",
    });
    expect((await w.exchange()).objects).toHaveLength(0);
  });
});

describe("credentials", () => {
  test("are sealed at the edge, shown nowhere, and dropped once the agent has them", async () => {
    const w = await agent("c1");
    const spec = {
      agent: "c1",
      url: "https://git.example/c.git",
      username: "u",
      credentials: { password: "canary-s3cret" },
      credentialsVersion: "1",
    };
    const made = await put("/v1/repositories/c1-repo", spec);
    expect(made.body).toMatchObject({ status: { credentials: "Pending" }, spec: { credentialsVersion: "1" } });
    expect(made.text).not.toContain("canary");
    const dump = JSON.stringify([
      await s.db.query("select * from objects"),
      await s.db.query("select * from events"),
      await s.db.query("select * from deliveries"),
      await s.db.query("select * from audit"),
    ]);
    expect(dump).not.toContain("canary");
    const { objects } = await w.exchange();
    const context = { account: "default", collection: "repositories" as const, id: "c1-repo" };
    expect(await open(w.seal.privateKey, context, objects[0]!.sealed!)).toEqual({ password: "canary-s3cret" });
    expect(objects[0]!.spec).not.toHaveProperty("credentials");
    await w.acknowledge(objects);
    expect((await s.ask("GET", "/v1/repositories/c1-repo")).body.status.credentials).toBe("Delivered");
    expect(await s.db.query("select 1 from deliveries where id = 'c1-repo' and sealed is not null")).toEqual([]);
    // Leaving them out keeps what the agent has.
    const { credentials: _, ...without } = spec;
    const again = await put("/v1/repositories/c1-repo", without);
    expect(again.body).toMatchObject({
      version: (await s.ask("GET", "/v1/repositories/c1-repo")).body.version,
      status: { credentials: "Delivered" },
    });
  });
  test("sealed to another key are refused, and both ways at once too", async () => {
    const w = await agent("c2");
    const other = await generateSealKeys();
    const sealedCredentials = { keyId: other.publicKey.slice(0, 16), enc: "AA", ciphertext: "AA" };
    expect(await put("/v1/repositories/c2-repo", { agent: "c2", url: "https://h/x", sealedCredentials })).toMatchObject({
      status: 422,
      body: { code: "credentials_key_mismatch", pointer: "/spec/sealedCredentials/keyId" },
    });
    expect(
      await put("/v1/repositories/c2-repo", { agent: "c2", url: "https://h/x", sealedCredentials, credentials: { password: "p" } }),
    ).toMatchObject({ status: 422, body: { code: "invalid_field" } });
    void w;
  });
  test("that wait for an old key are dropped when the agent enrols anew", async () => {
    await agent("c3");
    await put("/v1/repositories/c3-repo", { agent: "c3", url: "https://h/x", credentials: { password: "p" } });
    const w = await new TestWorker(s.url, "new", "cluster-of-c3").enrol(await tokenOf("c3"));
    await w.open();
    expect((await s.ask("GET", "/v1/repositories/c3-repo")).body.status.credentials).toBe("None");
    expect((await w.exchange()).objects[0]!.sealed).toBeUndefined();
  });
});

test("sync and refresh ride on the object, the newest of each kind, and its generation stays", async () => {
  const w = await agent("a1");
  await put("/v1/applications/a1-app", { agent: "a1", destination: {}, source: { repoUrl: "https://h/x", path: "." } });
  await w.acknowledge((await w.exchange()).objects);
  expect((await s.ask("POST", "/v1/applications/a1-app/sync", { body: { revision: "main" } })).status).toBe(202);
  expect((await s.ask("POST", "/v1/applications/a1-app/sync", { body: { prune: true } })).status).toBe(202);
  expect((await s.ask("POST", "/v1/applications/a1-app/refresh")).status).toBe(202);
  const [o] = (await w.exchange()).objects;
  expect(o).toMatchObject({ action: { sync: { by: "key:admin", request: { prune: true } }, refresh: { hard: false } } });
  expect((await s.ask("GET", "/v1/applications/a1-app")).body.generation).toBe(1);
});

test("questions to the agent are answered by it, or end with a named reason", async () => {
  const w = await agent("q1");
  await put("/v1/repositories/q1-repo", { agent: "q1", url: "https://h/x" });
  const asking = s.ask("GET", "/v1/repositories/q1-repo/refs");
  const { tasks } = await w.exchange({ wait: 10, free: 5 });
  const task = tasks[0] ?? (await w.exchange({ wait: 10, free: 5 })).tasks[0]!;
  expect(task).toMatchObject({ kind: "repository.refs", params: { key: "-/-/q1-repo", name: "q1-repo" }, fence: 1 });
  const outputs = { defaultBranch: "main", branches: [{ name: "main", revision: "abc" }], tags: [] };
  expect((await w.call(`tasks/${task.task}/result`, { fence: 1, outcome: "succeeded", outputs })).status).toBe(204);
  expect(await asking).toMatchObject({ status: 200, body: outputs });

  const testing = s.ask("POST", "/v1/repositories/q1-repo/test");
  const next = await eventually("the test's task", async () => (await w.exchange({ free: 5 })).tasks[0]);
  await w.call(`tasks/${next.task}/result`, {
    fence: next.fence,
    outcome: "failed",
    reason: "AuthRequired",
    message: "the repository asks for a password",
  });
  expect(await testing).toMatchObject({
    status: 200,
    body: { state: "Failed", reason: "AuthRequired", message: "the repository asks for a password" },
  });

  await put("/v1/agents/q2", {});
  await put("/v1/repositories/q2-repo", { agent: "q2", url: "https://h/x" });
  expect(await s.ask("GET", "/v1/repositories/q2-repo/refs")).toMatchObject({ status: 409, body: { code: "agent_not_enrolled" } });
  expect((await s.ask("GET", "/v1/tasks")).body.items).toEqual([]);
});

test("the installation of an agent and a delegate carries a token that enrols", async () => {
  await put("/v1/agents/inst", {});
  const values = await s.ask("POST", "/v1/agents/inst/values", { body: { endpoint: "https://outpost.example" } });
  expect(values.status).toBe(200);
  expect(values.text).toContain("https://outpost.example");
  const token = /ot1_[A-Za-z0-9_-]+/.exec(values.text)![0];
  expect((await new TestWorker(s.url).tryEnrol(token)).body).toMatchObject({ kind: "agent", id: "inst" });
  expect((await s.ask("POST", "/v1/agents/inst/manifest", { body: {} })).text).toContain("kind: ");
  await put("/v1/delegates/inst", { tags: ["linux"] });
  expect((await s.ask("POST", "/v1/delegates/inst/manifest", { body: {} })).text).toContain("ot1_");
});
