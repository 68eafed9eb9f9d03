import { agentsOf } from "../testing/agents.ts";
import { startService, type TestService } from "../testing/service.ts";
import type { TestWorker } from "../testing/worker.ts";

let s: TestService;
beforeAll(async () => {
  s = await startService();
}, 60_000);
afterAll(() => s?.stop());
const { put, agent, tokenOf } = agentsOf(() => s);

const get = async (path: string) => (await s.ask("GET", path)).body;
/** Takes and acknowledges all that is due; the answer to an acknowledgement may bring more. */
const take = async (w: TestWorker) => {
  const seen: string[] = [];
  for (let { objects } = await w.exchange(); objects.length > 0; ) {
    seen.push(
      ...objects.map(
        (o) => `${o.op} ${o.collection}/${o.key.split("/")[2]}${o.op === "delete" ? ` ${o.cascade}` : ""}`,
      ),
    );
    const reports = objects.map(({ collection, key, uid, generation, op }) => ({
      collection,
      key,
      uid,
      generation,
      outcome: op === "put" ? ("applied" as const) : ("deleted" as const),
    }));
    ({ objects } = await w.exchange({ reports }));
  }
  return seen;
};
const replace = (path: string, spec: object) =>
  s.ask("PUT", path, { body: { spec }, headers: { "if-none-match": "*" } });
const app = (name: string, more: object = {}) => ({
  agent: name,
  destination: {},
  source: { repoUrl: "https://h/x", path: "." },
  ...more,
});

describe("a change in place", () => {
  test("a cluster's address changes while applications go there: the object stays, and their agent hears of it", async () => {
    const w = await agent("p1");
    const cluster = await put("/v1/clusters/p1-c", { agent: "p1", server: "https://old.example" });
    const made = await put("/v1/applications/p1-a", app("p1", { destination: { cluster: "p1-c" } }));
    await take(w);
    const changed = await put("/v1/clusters/p1-c", { agent: "p1", server: "https://new.example" });
    expect(changed).toMatchObject({ status: 200, body: { uid: cluster.body.uid, generation: 2 } });
    const { objects } = await w.exchange();
    expect(objects).toMatchObject([
      { op: "put", collection: "clusters", spec: { server: "https://new.example" } },
      {
        op: "put",
        collection: "applications",
        uid: made.body.uid,
        resolved: { cluster: { name: "p1-c", server: "https://new.example" } },
      },
    ]);
    expect(await get("/v1/applications/p1-a")).toMatchObject({ generation: 1, uid: made.body.uid });
  });

  test.each([["namespace", { namespace: "elsewhere" }]])(
    "an agent's %s changes while objects are registered with it",
    async (_, spec) => {
      await put("/v1/agents/p2", {});
      await put("/v1/applications/p2-a", app("p2"));
      expect(await put("/v1/agents/p2", spec)).toMatchObject({ status: 200, body: { spec } });
    },
  );

  test("another spelling of the same agent is not a move", async () => {
    await put("/v1/organizations/p3", {});
    await put("/v1/agents/p3?org=p3", {});
    await put("/v1/projects/p?org=p3", {});
    const path = "/v1/applications/a?org=p3";
    const made = await put(path, app("p3"));
    expect(await put(path, app("org.p3"))).toMatchObject({ status: 200, body: { uid: made.body.uid } });
  });
});

describe("a move to another agent", () => {
  test("needs to be asked for, and a missing agent leaves everything as it is", async () => {
    const w = await agent("m1");
    await agent("m1-b");
    const made = await put("/v1/applications/m1-a", app("m1"));
    await take(w);
    expect(await put("/v1/applications/m1-a", app("m1-b"))).toMatchObject({
      status: 422,
      body: { code: "immutable_field", pointer: "/spec/agent", detail: expect.stringContaining("move=true") },
    });
    expect(await put("/v1/applications/m1-a?move=true", app("quickstar"))).toMatchObject({
      status: 422,
      body: { code: "reference_not_found", pointer: "/spec/agent" },
    });
    expect((await get("/v1/applications/m1-a")).uid).toBe(made.body.uid);
    expect(await take(w)).toEqual([]);
  });

  test("the agent before gives an application up without deleting anything; only then the new one gets it", async () => {
    const [from, to] = [await agent("m2"), await agent("m2-b")];
    const made = await put("/v1/applications/m2-a", app("m2"));
    await take(from);
    const moved = await s.ask("PATCH", "/v1/applications/m2-a?move=true", { body: { spec: { agent: "m2-b" } } });
    expect(moved).toMatchObject({
      status: 200,
      body: { spec: { agent: "m2-b" }, status: { delivery: { state: "Pending", reason: "Moving" } } },
    });
    expect(moved.body.uid).not.toBe(made.body.uid);
    expect(await take(to)).toEqual([]);
    expect(await s.ask("DELETE", "/v1/agents/m2")).toMatchObject({ status: 409, body: { code: "in_use" } });
    expect(await take(from)).toEqual(["delete applications/m2-a orphan"]);
    expect(await take(to)).toEqual(["put applications/m2-a"]);
    expect((await get("/v1/applications/m2-a")).status).toMatchObject({ delivery: { state: "Delivered" } });
    expect((await s.ask("DELETE", "/v1/agents/m2")).status).toBe(204);
  });

  test("an agent that is not connected holds nobody up, and gives the application up when it comes back", async () => {
    const [from, to] = [await agent("m3"), await agent("m3-b")];
    await put("/v1/applications/m3-a", app("m3"));
    await take(from);
    await s.db.query("update objects set status = status || '{\"connected\": false}' where id = 'm3'");
    await put("/v1/applications/m3-a?move=true", app("m3-b"));
    expect(await take(to)).toEqual(["put applications/m3-a"]);
    expect(await take(from)).toEqual(["delete applications/m3-a orphan"]);
    expect((await get("/v1/applications/m3-a")).spec.agent).toBe("m3-b");
  });

  test("there and back again", async () => {
    const [from, to] = [await agent("m4"), await agent("m4-b")];
    await put("/v1/applications/m4-a", app("m4"));
    await take(from);
    await put("/v1/applications/m4-a?move=true", app("m4-b"));
    await put("/v1/applications/m4-a?move=true", app("m4"));
    const seen = [...(await take(from)), ...(await take(to)), ...(await take(from))];
    expect(seen.sort()).toEqual(["delete applications/m4-a orphan", "put applications/m4-a"]);
    expect((await get("/v1/applications/m4-a")).status.delivery).toEqual({ state: "Delivered" });
    expect(await s.db.query("select 1 from deliveries where id = 'm4-a'")).toHaveLength(1);
  });

  test("a cluster moves before its applications: the agent before keeps it until the last of them has gone", async () => {
    const [from, to] = [await agent("m5"), await agent("m5-b")];
    await put("/v1/clusters/m5-c", { agent: "m5", server: "https://k.example" });
    await put("/v1/applications/m5-a", app("m5", { destination: { cluster: "m5-c" } }));
    await take(from);
    expect((await put("/v1/clusters/m5-c?move=true", { agent: "m5-b", server: "https://k.example" })).status).toBe(200);
    expect(await take(to)).toEqual(["put clusters/m5-c"]);
    expect((await take(from)).filter((one) => one.startsWith("delete"))).toEqual([]);
    expect(
      (await put("/v1/applications/m5-a?move=true", app("m5-b", { destination: { cluster: "m5-c" } }))).status,
    ).toBe(200);
    expect(await take(from)).toEqual(["delete applications/m5-a orphan", "delete clusters/m5-c orphan"]);
    expect(await take(to)).toEqual(["put applications/m5-a"]);
  });

  test("an application whose cluster and project moved without it says so until it follows, whatever its agent reports", async () => {
    const from = await agent("m8");
    await agent("m8-b");
    await put("/v1/clusters/m8-c", { agent: "m8", server: "https://k.example" });
    await put("/v1/appprojects/m8-p", { agent: "m8" });
    await put("/v1/applications/m8-a", app("m8", { destination: { cluster: "m8-c" }, appProject: "m8-p" }));
    await take(from);
    await put("/v1/clusters/m8-c?move=true", { agent: "m8-b", server: "https://k.example" });
    await put("/v1/appprojects/m8-p?move=true", { agent: "m8-b" });
    const moved = async () =>
      ((await get("/v1/applications/m8-a")).status.conditions ?? []).map((c: { message: string }) => c.message);
    const wanted = [
      expect.stringMatching(/app project m8-p .* moved to agent `m8-b`. This object stays with agent `m8`/),
      expect.stringMatching(/cluster m8-c .* Change `agent` to `m8-b` with `move=true`, or refer to another cluster/),
    ];
    expect(await moved()).toEqual(wanted);
    const { objects } = await from.exchange();
    await from.acknowledge(
      objects.filter((o) => o.op === "put"),
      { conditions: [], sync: { status: "Synced" } },
    );
    expect(await moved()).toEqual(wanted);
    const next = app("m8-b", { destination: { cluster: "m8-c" }, appProject: "m8-p" });
    expect((await put("/v1/applications/m8-a?move=true", next)).status).toBe(200);
    expect(await moved()).toEqual([]);
  });

  test("a cluster that comes back takes the warning away", async () => {
    await agent("m9");
    await agent("m9-b");
    await put("/v1/clusters/m9-c", { agent: "m9", server: "https://k.example" });
    await put("/v1/applications/m9-a", app("m9", { destination: { cluster: "m9-c" } }));
    const types = async () =>
      ((await get("/v1/applications/m9-a")).status.conditions ?? []).map((c: { type: string }) => c.type);
    await put("/v1/clusters/m9-c?move=true", { agent: "m9-b", server: "https://k.example" });
    expect(await types()).toEqual(["ReferenceMovedWarning"]);
    await put("/v1/clusters/m9-c?move=true", { agent: "m9", server: "https://k.example" });
    expect(await types()).toEqual([]);
  });

  test("credentials are sealed to the agent before: they must be given again", async () => {
    const from = await agent("m6");
    const to = await agent("m6-b");
    const spec = { agent: "m6", url: "https://git.example/m6.git", username: "u" };
    await put("/v1/repositories/m6-r", { ...spec, credentials: { password: "one" }, credentialsVersion: "1" });
    await take(from);
    const moved = { ...spec, agent: "m6-b", credentialsVersion: "2" };
    expect(await put("/v1/repositories/m6-r?move=true", moved)).toMatchObject({
      status: 422,
      body: { code: "invalid_field", pointer: "/spec/credentials" },
    });
    expect((await put("/v1/repositories/m6-r?move=true", { ...moved, credentials: { password: "one" } })).status).toBe(
      200,
    );
    const { objects } = await to.exchange();
    expect(objects).toMatchObject([{ op: "put", sealed: expect.any(Object) }]);
    expect(await take(from)).toEqual(["delete repositories/m6-r orphan"]);
  });

  test("a report of the agent before about what it gave up changes nothing", async () => {
    const from = await agent("m7");
    await agent("m7-b");
    await put("/v1/applications/m7-a", app("m7"));
    const { objects } = await from.exchange();
    await from.acknowledge(objects);
    await put("/v1/applications/m7-a?move=true", app("m7-b"));
    const before = await get("/v1/applications/m7-a");
    const reports = objects.map((o) => ({
      collection: o.collection,
      key: o.key,
      uid: o.uid,
      generation: 1,
      outcome: "deleted" as const,
    }));
    const answer = await from.exchange({ reports });
    expect(await get("/v1/applications/m7-a")).toEqual(before);
    expect(answer.objects).toMatchObject([{ op: "delete", cascade: "orphan" }]);
  });
});

describe("a replacement under the same id", () => {
  test.each([
    ["clusters", "cluster", { server: "https://k.example" }, (id: string) => ({ destination: { cluster: id } })],
    ["appprojects", "project", {}, (id: string) => ({ appProject: id })],
    [
      "repositories",
      "repository",
      { url: "https://git.example/r.git" },
      (id: string) => ({ source: { repository: id, path: "." } }),
    ],
  ] as const)("%s: what refers to it keeps referring to it", async (collection, name, spec, refer) => {
    const w = await agent(`r-${name}`);
    const path = `/v1/${collection}/r-${name}`;
    const made = await put(path, { agent: `r-${name}`, ...spec });
    const user = await put(`/v1/applications/uses-${name}`, app(`r-${name}`, refer(`r-${name}`)));
    expect(user.status).toBe(201);
    await take(w);
    expect((await s.ask("DELETE", path)).body.code).toBe("in_use");
    expect((await s.ask("DELETE", `${path}?replace=true`)).status).toBe(204);
    // It is there until its heir comes, and nothing has gone to the agent.
    expect((await get(path)).uid).toBe(made.body.uid);
    expect(await take(w)).toEqual([]);
    const next = await replace(path, { agent: `r-${name}`, ...spec });
    expect(next).toMatchObject({ status: 201, body: { status: { delivery: { state: "Pending" } } } });
    expect(next.body.uid).not.toBe(made.body.uid);
    expect((await take(w)).map((one) => one.split(" ")[0])).toEqual(["put", "put"]);
    expect((await get(`/v1/applications/uses-${name}`)).uid).toBe(user.body.uid);
    expect((await s.ask("DELETE", path)).body.code).toBe("in_use");
    // Another creation meets an object that was not released.
    expect((await replace(path, { agent: `r-${name}`, ...spec })).body.code).toBe("already_exists");
  });

  test("an agent is replaced while objects are registered with it: its identity ends, and the new one gets them all", async () => {
    const before = await agent("r4");
    const made = await put("/v1/applications/r4-a", app("r4"));
    await take(before);
    const uid = (await get("/v1/agents/r4")).uid;
    expect((await s.ask("DELETE", "/v1/agents/r4?replace=true")).status).toBe(204);
    expect(await take(before)).toEqual([]);
    const next = await replace("/v1/agents/r4", {});
    expect(next.status).toBe(201);
    expect(next.body.uid).not.toBe(uid);
    expect((await before.call("heartbeat", { leases: [] })).status).toBe(401);
    const { TestWorker: Worker } = await import("../testing/worker.ts");
    const after = await (await new Worker(s.url, "r4-1", "another-cluster").enrol(await tokenOf("r4"))).open();
    expect(await take(after)).toEqual(["put applications/r4-a"]);
    expect((await get("/v1/applications/r4-a")).uid).toBe(made.body.uid);
  });

  test("an organisation is replaced while it holds something", async () => {
    await put("/v1/organizations/r5", {});
    await put("/v1/agents/r5?org=r5", {});
    expect((await s.ask("DELETE", "/v1/organizations/r5?replace=true")).status).toBe(204);
    expect((await replace("/v1/organizations/r5", { name: "again" })).status).toBe(201);
    expect((await get("/v1/agents/r5?org=r5")).id).toBe("r5");
  });

  test("what nothing refers to is deleted for good", async () => {
    await put("/v1/agents/r6", {});
    await put("/v1/clusters/r6", { agent: "r6", server: "https://k.example" });
    expect((await s.ask("DELETE", "/v1/clusters/r6?replace=true")).status).toBe(204);
    expect((await s.ask("GET", "/v1/clusters/r6")).status).toBe(404);
  });

  test("a write takes the release back", async () => {
    await put("/v1/agents/r7", {});
    await put("/v1/clusters/r7", { agent: "r7", server: "https://k.example" });
    await put("/v1/applications/r7", app("r7", { destination: { cluster: "r7" } }));
    expect((await s.ask("DELETE", "/v1/clusters/r7?replace=true")).status).toBe(204);
    await put("/v1/clusters/r7", { agent: "r7", server: "https://other.example" });
    expect((await replace("/v1/clusters/r7", { agent: "r7", server: "https://k.example" })).body.code).toBe(
      "already_exists",
    );
  });

  test("what a replacement under another id leaves goes with the last object that refers to it, and not before", async () => {
    const w = await agent("r9");
    const cluster = { agent: "r9", server: "https://k.example" };
    await put("/v1/clusters/r9-old", cluster);
    await put("/v1/applications/r9-a", app("r9", { destination: { cluster: "r9-old" } }));
    await put("/v1/applications/r9-b", app("r9", { destination: { cluster: "r9-old" } }));
    await take(w);
    expect((await s.ask("DELETE", "/v1/clusters/r9-old?replace=true")).status).toBe(204);
    await put("/v1/clusters/r9-new", cluster);
    await put("/v1/applications/r9-a", app("r9", { destination: { cluster: "r9-new" } }));
    expect((await get("/v1/clusters/r9-old")).id).toBe("r9-old");
    await s.ask("DELETE", "/v1/applications/r9-b");
    const seen = await take(w);
    expect(seen.filter((one) => one.startsWith("delete"))).toEqual([
      "delete applications/r9-b foreground",
      "delete clusters/r9-old undefined",
    ]);
    expect((await s.ask("GET", "/v1/clusters/r9-old")).status).toBe(404);
  });

  test("an agent that was replaced under another id goes when it has given up its last application", async () => {
    const [from, to] = [await agent("r10"), await agent("r10-b")];
    await put("/v1/applications/r10-a", app("r10"));
    await take(from);
    expect((await s.ask("DELETE", "/v1/agents/r10?replace=true")).status).toBe(204);
    await put("/v1/applications/r10-a?move=true", app("r10-b"));
    expect((await s.ask("GET", "/v1/agents/r10")).status).toBe(200);
    const { objects } = await from.exchange();
    const due = objects.map(({ collection, key, uid, generation }) => ({
      collection,
      key,
      uid,
      generation,
      outcome: "deleted" as const,
    }));
    await from.call("exchange", { wait: 0, free: 0, reports: due });
    expect((await s.ask("GET", "/v1/agents/r10")).status).toBe(404);
    expect(await take(to)).toEqual(["put applications/r10-a"]);
  });

  test("an interrupted replacement leaves nothing behind: the object that was kept goes with a destroy of what refers to it", async () => {
    await put("/v1/agents/r11", {});
    await put("/v1/clusters/r11", { agent: "r11", server: "https://k.example" });
    await put("/v1/applications/r11", app("r11", { destination: { cluster: "r11" } }));
    await s.ask("DELETE", "/v1/clusters/r11?replace=true");
    expect((await s.ask("DELETE", "/v1/applications/r11")).status).toBe(204);
    expect((await s.ask("GET", "/v1/clusters/r11")).status).toBe(404);
    expect((await s.ask("DELETE", "/v1/agents/r11")).status).toBe(204);
  });

  test("a delete with a uid spares another object of the same id", async () => {
    const { uid } = (await put("/v1/agents/r8", {})).body;
    await s.ask("DELETE", "/v1/agents/r8");
    await put("/v1/agents/r8", {});
    expect((await s.ask("DELETE", `/v1/agents/r8?uid=${uid}`)).status).toBe(404);
    expect((await s.ask("GET", "/v1/agents/r8")).status).toBe(200);
  });
});
