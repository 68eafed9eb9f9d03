import { agentsOf } from "../testing/agents.ts";
import { startService, type TestService } from "../testing/service.ts";
import { TestWorker } from "../testing/worker.ts";

let s: TestService;
beforeAll(async () => {
  s = await startService();
}, 60_000);
afterAll(() => s?.stop());
const { put, tokenOf, agent } = agentsOf(() => s);

describe("enrolment", () => {
  test("a token makes one identity; the same worker may ask again, another is refused and audited", async () => {
    await put("/v1/agents/e1", {});
    const token = await tokenOf("e1");
    const worker = await new TestWorker(s.url).enrol(token);
    expect((await worker.tryEnrol(token)).body.worker).toBe(worker.worker);
    expect(await new TestWorker(s.url).tryEnrol(token)).toMatchObject({ status: 401, body: { code: "token_invalid" } });
    const audit = await s.ask("GET", "/v1/audit?limit=5");
    expect(audit.body.items[0]).toMatchObject({
      operation: "enrolWorker",
      outcome: "denied",
      code: "token_invalid",
      target: "e1",
    });
    // base64url has underscores of its own.
    expect(audit.text).not.toContain(/^ot1_[^_]+_(.{43})_/.exec(token)![1]);
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
    expect(await new TestWorker(s.url).tryEnrol(forged)).toMatchObject({
      status: 401,
      body: { code: "worker_proof_invalid" },
    });
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
    await s.db.query(
      "update tokens set expires_at = now() - interval '1 second' where account = 'default' and revoked_at is null",
    );
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
      body: { code: "worker_unknown" },
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
