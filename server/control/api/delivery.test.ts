import { within } from "../../../test/within.ts";
import { agentsOf } from "../testing/agents.ts";
import { startService, type TestService } from "../testing/service.ts";

let s: TestService;
beforeAll(async () => {
  s = await startService();
}, 60_000);
afterAll(() => s?.stop());
const { put, agent } = agentsOf(() => s);

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
      resolved: {
        cluster: { name: "d1-cluster", server: "https://k8s.example" },
        repositories: ["https://git.example/d1.git", null],
      },
    });
    // Sent and not yet acknowledged: a poll waits instead of getting it again at once.
    expect((await w.exchange()).objects).toHaveLength(0);
    await w.acknowledge(objects);
    expect((await s.ask("GET", "/v1/applications/d1-app")).body.status).toMatchObject({
      delivery: { state: "Delivered" },
    });
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
    await put("/v1/applications/d2-app", {
      agent: "d2",
      destination: {},
      source: { repository: "d2-repo", path: "." },
    });
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
    await put("/v1/applications/d3-app", {
      agent: "d3",
      destination: {},
      source: { repoUrl: "https://h/x", path: "." },
    });
    await w.acknowledge((await w.exchange()).objects);
    const going = await s.ask("DELETE", "/v1/applications/d3-app?cascade=background");
    expect(going).toMatchObject({
      status: 202,
      body: { deletionRequestedAt: expect.any(String), status: { delivery: { state: "Deleting" } } },
    });
    expect(
      await put("/v1/applications/d3-app", {
        agent: "d3",
        destination: {},
        source: { repoUrl: "https://h/x", path: "." },
      }),
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
    await put("/v1/applications/d4-app", {
      agent: "d4",
      destination: {},
      source: { repoUrl: "https://h/x", path: "." },
    });
    const { objects } = await w.exchange();
    expect((await s.ask("DELETE", "/v1/applications/d4-app?force=true")).status).toBe(204);
    await w.acknowledge(objects);
    expect((await s.ask("GET", "/v1/applications/d4-app")).status).toBe(404);
  });

  test("`known` decides what is sent again; nothing is deleted for being absent", async () => {
    const w = await agent("d5");
    for (const id of ["d5-a", "d5-b"])
      await put(`/v1/applications/${id}`, {
        agent: "d5",
        destination: {},
        source: { repoUrl: "https://h/x", path: "." },
      });
    const { objects } = await w.exchange();
    await w.acknowledge(objects);
    await w.open();
    const known = objects.map(({ collection, key, uid, generation }) => ({ collection, key, uid, generation }));
    expect((await w.exchange({ known })).objects).toHaveLength(0);
    const lost = await w.exchange({ known: known.slice(1) });
    expect(lost.objects.map((o) => `${o.op} ${o.key}`)).toEqual([`put ${objects[0]!.key}`]);
    expect((await w.exchange({ known: [] })).objects).toHaveLength(2);
    // The agent holds something newer than the service knows, which was restored from a backup: it is sent again with a higher number.
    const ahead = await w.exchange({ known: known.map((k) => ({ ...k, generation: 50 })) });
    expect(ahead.objects.map((o) => o.generation)).toEqual([51, 51]);
  });

  test("a report of another agent's object is passed over", async () => {
    const [w, thief] = [await agent("d6"), await agent("d7")];
    await put("/v1/applications/d6-app", {
      agent: "d6",
      destination: {},
      source: { repoUrl: "https://h/x", path: "." },
    });
    const { objects } = await w.exchange();
    await s.ask("DELETE", "/v1/applications/d6-app");
    await thief.exchange({
      reports: objects.map((o) => ({
        collection: o.collection,
        key: o.key,
        uid: o.uid,
        generation: 99,
        outcome: "deleted" as const,
      })),
    });
    expect((await s.ask("GET", "/v1/applications/d6-app")).status).toBe(200);
  });

  test("names of two scopes never collide at one agent, and a scope's key names it", async () => {
    await put("/v1/organizations/dorg", {});
    const w = await agent("d8");
    await put("/v1/appprojects/all", { agent: "d8" });
    for (const query of ["", "?org=dorg"])
      await put(`/v1/applications/same${query}`, {
        agent: query ? "account.d8" : "d8",
        ...(query ? { appProject: "account.all" } : {}),
        destination: {},
        source: { repoUrl: "https://h/x", path: "." },
      });
    const objects = (await w.exchange()).objects.slice(1);
    expect(objects.map((o) => o.key)).toEqual(["-/-/same", "dorg/-/same"]);
    expect(objects[0]!.name).toBe("same");
    expect(objects[1]!.name).toMatch(/^same-[0-9a-f]{12}$/);
  });

  test("a poll that waits is woken by a change", async () => {
    const w = await agent("d9");
    await w.exchange();
    const poll = w.exchange({ wait: 20 });
    const started = Date.now();
    await put("/v1/applications/d9-app", {
      agent: "d9",
      destination: {},
      source: { repoUrl: "https://h/x", path: "." },
    });
    expect((await poll).objects).toHaveLength(1);
    expect(Date.now() - started).toBeLessThan(within(2_000));
  });

  test("a refusal shows in the object's status with its reason, and is not sent again until something changes", async () => {
    const w = await agent("d10");
    await put("/v1/applications/d10-app", {
      agent: "d10",
      destination: {},
      source: { repoUrl: "https://h/x", path: "." },
    });
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
