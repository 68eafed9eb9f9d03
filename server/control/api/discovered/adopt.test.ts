import { agentsOf } from "../../testing/agents.ts";
import { app, HOME, listed, shownBy, spec } from "../../testing/discovered.ts";
import { eventually, startService, type TestService } from "../../testing/service.ts";
import type { TestWorker } from "../../testing/worker.ts";

let s: TestService;
beforeAll(async () => {
  s = await startService();
  for (const org of ["shop", "bank"]) await put(`/v1/organizations/${org}`, {});
  await put("/v1/projects/web?org=shop", {});
}, 60_000);
afterAll(() => s?.stop());
const { put, agent } = agentsOf(() => s);
const { get, ids } = shownBy(() => s);
const key = async (role: string, org?: string) => {
  const { body } = await s.ask("POST", `/v1/apikeys${org ? `?org=${org}` : ""}`, { body: { id: `of-${org}`, role } });
  return body.key as string;
};

describe("tenants", () => {
  let w: TestWorker;
  let shop: string;
  beforeAll(async () => {
    w = await agent("shared");
    shop = await key("admin", "shop");
  });

  test("an organization sees what is mapped to it and nothing else, and a change of the mapping moves it", async () => {
    await w.exchange({
      discovered: [app("front", { argoProject: "shop-web" }), app("ledger", { argoProject: "bank" })],
    });
    expect(await ids("?org=shop&inherited=true", shop)).toEqual([]);
    expect((await get("/v1/applications/front", shop)).status).toBe(404);
    const { uid } = (await get("/v1/applications/front")).body;
    expect(
      await put("/v1/argoprojectmappings/shop", { agent: "shared", argoProject: "shop-*", targetOrg: "shop" }),
    ).toMatchObject({
      status: 201,
    });
    expect((await get("/v1/applications/front?org=shop", shop)).body).toMatchObject({
      uid,
      org: "shop",
      spec: { agent: "account.shared" },
    });
    expect((await get("/v1/applications/front")).status).toBe(404);
    expect((await get("/v1/applications/ledger?org=shop", shop)).status).toBe(404);
    for (const headers of [undefined, { "if-none-match": "*" }]) {
      const second = { agent: "shared", argoProject: "shop-*", targetOrg: "bank" };
      expect(
        await s.ask("PUT", "/v1/argoprojectmappings/second", {
          body: { spec: second },
          ...(headers ? { headers } : {}),
        }),
      ).toMatchObject({
        status: 409,
        body: {
          code: "conflict",
          pointer: "/spec/argoProject",
          detail: expect.stringContaining("`shop` maps `shop-*`"),
        },
      });
    }
    // The most exact one counts.
    await put("/v1/argoprojectmappings/web", {
      agent: "shared",
      argoProject: "shop-web",
      targetOrg: "shop",
      targetProject: "web",
    });
    expect((await get("/v1/applications/front?org=shop&project=web", shop)).body).toMatchObject({
      uid,
      project: "web",
    });
    await w.exchange({ discovered: [app("back", { argoProject: "shop-db" })] });
    expect((await get("/v1/applications/back?org=shop", shop)).status).toBe(200);
    for (const id of ["web", "shop"]) expect((await s.ask("DELETE", `/v1/argoprojectmappings/${id}`)).status).toBe(204);
    expect(await ids("?org=shop&inherited=true", shop)).toEqual([]);
    expect((await get("/v1/applications/front")).body).toMatchObject({ uid, spec: { agent: "shared" } });
  });

  test("a mapping is for the agent's own scope, and its target must exist", async () => {
    const mapping = (path: string, body: object, k?: string) =>
      s.ask("PUT", path, { body: { spec: { agent: "shared", argoProject: "*", ...body } }, ...(k ? { key: k } : {}) });
    expect(await mapping("/v1/argoprojectmappings/x?org=shop", { agent: "account.shared" }, shop)).toMatchObject({
      status: 422,
      body: { pointer: "/spec/agent" },
    });
    expect((await mapping("/v1/argoprojectmappings/x", { targetOrg: "shop" }, shop)).status).toBe(404);
    expect(await mapping("/v1/argoprojectmappings/x", {})).toMatchObject({
      status: 422,
      body: { pointer: "/spec/targetOrg" },
    });
    expect(await mapping("/v1/argoprojectmappings/x", { targetOrg: "none" })).toMatchObject({
      status: 422,
      body: { code: "reference_not_found", pointer: "/spec/targetOrg" },
    });
    expect(await mapping("/v1/argoprojectmappings/x", { targetOrg: "shop", targetProject: "none" })).toMatchObject({
      status: 422,
      body: { pointer: "/spec/targetProject" },
    });
    await agent("inshop", "?org=shop");
    expect(await mapping("/v1/argoprojectmappings/x?org=shop", { agent: "inshop", targetOrg: "bank" })).toMatchObject({
      status: 422,
      body: { pointer: "/spec/targetOrg" },
    });
  });

  test("an organization that a mapping names stays; what stood in one that goes is shown in the agent's scope", async () => {
    await put("/v1/organizations/brief", {});
    await put("/v1/argoprojectmappings/brief", { agent: "shared", argoProject: "brief", targetOrg: "brief" });
    await w.exchange({ discovered: [app("visitor", { argoProject: "brief" })] });
    expect(await s.ask("DELETE", "/v1/organizations/brief")).toMatchObject({
      status: 409,
      body: { code: "in_use", detail: expect.stringContaining("argoprojectmappings/brief") },
    });
    await s.ask("DELETE", "/v1/argoprojectmappings/brief");
    await w.exchange({ discovered: [app("marked", { tenant: "brief/-" })] });
    expect((await get("/v1/applications/marked?org=brief")).status).toBe(200);
    expect((await s.ask("DELETE", "/v1/organizations/brief")).status).toBe(204);
    expect((await get("/v1/applications/marked")).status).toBe(200);
  });

  test("a tenant mark outside the agent's namespace keeps an object out of other tenants' scopes, and brings it into none", async () => {
    for (const org of ["shop", "bank"])
      await put(`/v1/argoprojectmappings/to-${org}`, { agent: "shared", argoProject: `of-${org}`, targetOrg: org });
    const outside = (name: string, argoProject: string, mark: string) =>
      app(name, { namespace: "team", uid: `k-${name}`, argoProject, annotations: { "outpost.dev/tenant": mark } });
    const places = async () => {
      const { items } = (await get("/v1/applications?inherited=true&limit=500")).body;
      const all = (items as { org?: string; live?: { namespace?: string; name?: string } }[]).filter(
        ({ live }) => live?.namespace === "team",
      );
      return Object.fromEntries(all.map(({ org, live }) => [live!.name, org ?? ""]));
    };
    await w.exchange({
      discovered: [
        outside("theirs", "of-bank", "shop/-"),
        outside("theirs-too", "of-bank", "shop/web"),
        outside("own", "of-shop", "shop/-"),
        outside("above", "of-shop", "shop/web"),
        outside("unmapped", "of-nobody", "shop/-"),
      ],
    });
    const want = { theirs: "", "theirs-too": "", own: "shop", above: "shop", unmapped: "" };
    expect(await places()).toEqual(want);
    // What moves when a mapping changes is held to the same.
    await put("/v1/argoprojectmappings/to-nobody", { agent: "shared", argoProject: "of-nobody", targetOrg: "bank" });
    await put("/v1/argoprojectmappings/to-bank", { agent: "shared", argoProject: "of-bank", targetOrg: "shop" });
    await eventually("theirs is shown where its mark lets it be", async () => (await places()).theirs === "shop");
    expect(await places()).toEqual({ ...want, theirs: "shop", "theirs-too": "shop" });
    for (const org of ["shop", "bank", "nobody"]) await s.ask("DELETE", `/v1/argoprojectmappings/to-${org}`);
  });

  test("what was seen before a scope came, or stays when it goes, moves without another report, and never into another tenant's scope", async () => {
    await put("/v1/argoprojectmappings/late", { agent: "shared", argoProject: "late", targetOrg: "bank" });
    await w.exchange({
      discovered: [
        app("late-org", { tenant: "late/-", argoProject: "late" }),
        app("late-project", { tenant: "late/web", argoProject: "late" }),
        app("late-unmarked", { argoProject: "late" }),
      ],
    });
    const places = async () => {
      const { items } = (await get("/v1/applications?inherited=true&limit=500")).body;
      return (items as { org?: string; project?: string; live?: { name?: string } }[])
        .filter(({ live }) => live?.name?.startsWith("late-"))
        .map(({ org = "", project = "", live }) => `${live!.name} ${org}/${project}`)
        .sort();
    };
    const bank = "late-unmarked bank/";
    expect(await places()).toEqual(["late-org /", "late-project /", bank]);
    await put("/v1/organizations/late", {});
    expect(await places()).toEqual(["late-org late/", "late-project /", bank]);
    await put("/v1/projects/web?org=late", {});
    expect(await places()).toEqual(["late-org late/", "late-project late/web", bank]);
    const late = await key("viewer", "late");
    expect(await ids("?org=late&inherited=true", late)).toEqual(["late-org", "late-project"]);
    expect((await s.ask("DELETE", "/v1/projects/web?org=late")).status).toBe(204);
    expect(await places()).toEqual(["late-org late/", "late-project /", bank]);
    await put("/v1/argoprojectmappings/late", { agent: "shared", argoProject: "late", targetOrg: "late" });
    expect(await places()).toEqual(["late-org late/", "late-project late/", "late-unmarked late/"]);
    await put("/v1/argoprojectmappings/late", { agent: "shared", argoProject: "late", targetOrg: "bank" });
    expect(await places()).toEqual(["late-org late/", "late-project /", bank]);
    expect(await ids("?org=late&inherited=true", late)).toEqual(["late-org"]);
    for (const path of ["apikeys/of-late?org=late", "organizations/late", "argoprojectmappings/late"])
      await s.ask("DELETE", `/v1/${path}`);
    expect(await places()).toEqual(["late-org /", "late-project /", "late-unmarked /"]);
  });

  test("a tenant mark counts within the agent's scope alone", async () => {
    const inside = await agent("inbank", "?org=bank");
    await inside.exchange({ discovered: [app("spy", { tenant: "shop/web" })] });
    expect((await get("/v1/applications/spy?org=bank")).status).toBe(200);
    expect((await get("/v1/applications/spy?org=shop&project=web")).status).toBe(404);
  });
});

describe("a discovered object and the ids of managed ones", () => {
  test("never takes an id that is taken, gives the plain one up, and cannot be referred to", async () => {
    const [w] = [await agent("squat"), await agent("owner")];
    await put("/v1/applications/mine", { agent: "owner", ...spec });
    await w.exchange({
      discovered: [
        app("mine"),
        app("wanted"),
        { collection: "clusters", namespace: HOME, name: "prod", uid: "kc", spec: { server: "https://evil.example" } },
        {
          collection: "repositories",
          namespace: HOME,
          name: "code",
          uid: "kr",
          spec: { url: "https://evil.example/a.git" },
        },
      ],
    });
    expect((await get("/v1/applications/mine")).body.origin).toBe("managed");
    const { uid } = (await get("/v1/applications/wanted")).body;
    expect(await put("/v1/applications/wanted", { agent: "owner", ...spec })).toMatchObject({
      status: 201,
      body: { origin: "managed" },
    });
    const aside = (await ids("?filter=spec.agent=squat")).filter((id) => id.startsWith("wanted-"));
    expect((await get(`/v1/applications/${aside[0]}`)).body).toMatchObject({ uid, origin: "discovered" });
    for (const [pointer, change] of [
      ["/spec/destination/cluster", { destination: { cluster: "prod" } }],
      ["/spec/source/repository", { source: { repository: "code", path: "a" } }],
    ] as const)
      expect(await put("/v1/applications/victim", { agent: "squat", ...spec, ...change })).toMatchObject({
        status: 422,
        body: { code: "reference_not_found", pointer },
      });
  });

  test("a creation whose live object is there already is refused, also under another id", async () => {
    const w = await agent("double");
    await w.exchange({ discovered: [app("solo"), app("far", { namespace: "team", uid: "kf" })] });
    const create = (id: string) =>
      s.ask("PUT", `/v1/applications/${id}`, {
        headers: { "if-none-match": "*" },
        body: { spec: { agent: "double", ...spec } },
      });
    expect(await create("solo")).toMatchObject({ status: 409, body: { code: "not_adopted" } });
    // An Application of that name in the agent's own namespace is another one.
    const [far] = (await ids("?filter=spec.agent=double")).filter((id) => id.startsWith("far-"));
    expect(await create("far")).toMatchObject({ status: 201 });
    expect(await put(`/v1/applications/${far}`, { agent: "double", ...spec })).toMatchObject({
      status: 409,
      body: { code: "not_adopted" },
    });
  });

  test("what the service delivers is never shown twice", async () => {
    const w = await agent("once");
    await put("/v1/applications/mine-1", { agent: "once", ...spec });
    await put("/v1/repositories/mine-r", { agent: "once", url: "https://git.example/r.git" });
    await w.exchange({
      discovered: [
        app("mine-1"),
        {
          collection: "repositories",
          namespace: HOME,
          name: "repo-mine-r",
          uid: "kr",
          spec: { url: "https://git.example/r.git" },
        },
      ],
    });
    expect((await get("/v1/agents/once")).body.status.discovered ?? 0).toBe(0);
  });
});

describe("changes", () => {
  test("of a discovered object are refused until it is taken over, in its place and with the same uid", async () => {
    const w = await agent("take");
    await w.exchange({ discovered: [app("wild", { namespace: "team", uid: "k-wild" })] });
    const [id] = await ids("?filter=spec.agent=take");
    const path = `/v1/applications/${id}`;
    const { uid, spec: shown } = (await get(path)).body;
    for (const asking of [
      s.ask("PUT", path, { body: { spec: { agent: "take", ...spec } } }),
      s.ask("PATCH", path, { body: { spec: { info: [] } } }),
      s.ask("DELETE", path),
      s.ask("DELETE", `${path}?force=true`),
    ])
      expect(await asking).toMatchObject({ status: 409, body: { code: "not_adopted" } });
    expect((await w.exchange()).objects).toEqual([]);

    const { status, body } = await s.ask("PUT", `${path}?adopt=true`, { body: { spec: shown } });
    expect([status, body.uid, body.origin, body.live.name]).toEqual([200, uid, "managed", "wild"]);
    const { objects } = await w.exchange();
    expect(objects).toMatchObject([
      { op: "put", name: "wild", namespace: "team", adopt: { uid: "k-wild" }, uid, spec: shown },
    ]);
    expect(objects[0]!.adopt!.tenant).toBeUndefined();
    await w.acknowledge(objects);
    // A report that was on its way changes nothing, and a full round does not remove it.
    await w.exchange({ discovered: [app("wild", { namespace: "team", uid: "k-wild" })], listed: [listed(1, 0)] });
    expect((await get(path)).body).toMatchObject({
      origin: "managed",
      uid,
      status: { delivery: { state: "Delivered" } },
    });
    expect((await s.ask("PATCH", path, { body: { spec: { revisionHistoryLimit: 3 } } })).body).toMatchObject({
      origin: "managed",
      live: { name: "wild" },
    });
    expect((await w.exchange()).objects).toMatchObject([{ name: "wild", namespace: "team", adopt: { uid: "k-wild" } }]);
  });

  test("an adopted object that is forgotten is shown as discovered when its agent reports it again", async () => {
    const w = await agent("back");
    await w.exchange({ discovered: [app("loan")] });
    const { uid, spec: shown } = (await get("/v1/applications/loan")).body;
    await s.ask("PUT", "/v1/applications/loan?adopt=true", { body: { spec: shown } });
    await w.acknowledge((await w.exchange()).objects);
    await w.exchange({ discovered: [app("loan", { mark: uid })] });
    expect((await get("/v1/applications/loan")).body.origin).toBe("managed");
    expect((await s.ask("DELETE", "/v1/applications/loan?force=true")).status).toBe(204);
    await w.exchange({ discovered: [app("loan", { mark: uid })] });
    expect((await get("/v1/applications/loan")).body.origin).toBe("discovered");
  });

  test("of a generated object are refused with the address of what makes it", async () => {
    const w = await agent("maker");
    const set = {
      generators: [{ list: { elements: [] } }],
      template: { metadata: { name: "x" }, spec: { project: "default" } },
    };
    await put("/v1/applicationsets/team", { agent: "maker", ...set });
    await w.exchange({
      discovered: [
        app("made-1", { owner: { kind: "applicationset", name: "team" } }),
        app("part-1", { owner: { kind: "application", name: "apps", namespace: "argo" } }),
      ],
    });
    for (const asking of [
      s.ask("PUT", "/v1/applications/made-1?adopt=true", { body: { spec: { agent: "maker", ...spec } } }),
      s.ask("PATCH", "/v1/applications/made-1", { body: { spec: {} } }),
      s.ask("DELETE", "/v1/applications/made-1"),
    ])
      expect(await asking).toMatchObject({
        status: 409,
        body: { code: "owned_by", detail: expect.stringContaining("`applicationsets/team`") },
      });
    expect(await s.ask("DELETE", "/v1/applications/part-1")).toMatchObject({
      status: 409,
      body: { code: "owned_by", detail: expect.stringContaining("argo/apps") },
    });
  });

  test("a take-over keeps the cluster, and sends credentials nowhere else", async () => {
    const w = await agent("guard");
    await w.exchange({
      discovered: [
        app("remote", { destination: { server: "https://far.example" } }),
        {
          collection: "repositories",
          namespace: HOME,
          name: "kept",
          uid: "kr",
          spec: { url: "https://git.example/a.git" },
        },
      ],
    });
    const adopt = (path: string, body: object) =>
      s.ask("PUT", `${path}?adopt=true`, { body: { spec: { agent: "guard", ...body } } });
    expect(await adopt("/v1/applications/remote", spec)).toMatchObject({
      status: 422,
      body: { pointer: "/spec/destination/cluster", detail: expect.stringContaining("https://far.example") },
    });
    await put("/v1/clusters/far", { agent: "guard", server: "https://far.example" });
    expect(
      (await adopt("/v1/applications/remote", { ...spec, destination: { cluster: "far", namespace: "a" } })).status,
    ).toBe(200);
    expect(await adopt("/v1/repositories/kept", { url: "https://evil.example/a.git" })).toMatchObject({
      status: 422,
      body: { code: "credentials_required" },
    });
    expect((await adopt("/v1/repositories/kept", { url: "https://git.example/a.git" })).status).toBe(200);
  });

  test("a tenant's take-over tells the agent whose it is, whatever its name", async () => {
    const w = await agent("lend");
    await put("/v1/appprojects/team?org=shop", { agent: "account.lend" });
    const { name } = (await w.exchange()).objects[0]!;
    await w.exchange({
      discovered: [app("till", { tenant: "shop/-", argoProject: name, spec: { ...spec, argoProject: name } })],
    });
    const { spec: shown } = (await get("/v1/applications/till?org=shop")).body;
    expect((await s.ask("PUT", "/v1/applications/till?org=shop&adopt=true", { body: { spec: shown } })).status).toBe(
      200,
    );
    expect((await w.exchange()).objects).toMatchObject([{ name: "till", adopt: { tenant: "shop/-" } }]);
    // The live object has one place: the agent's own scope cannot have it too.
    expect(await put("/v1/applications/till", { agent: "lend", ...spec })).toMatchObject({
      status: 409,
      body: { code: "conflict" },
    });
  });

  test("leaves the rules of the agent's scope alone: no app project, cluster or repository is taken over below it", async () => {
    const lend = await agent("rules");
    const project = (name: string) => ({
      collection: "appprojects" as const,
      namespace: HOME,
      name,
      uid: `k-${name}`,
      argoProject: name,
      spec: { sourceRepos: ["*"] },
    });
    await put("/v1/argoprojectmappings/rules", { agent: "rules", argoProject: "*", targetOrg: "shop" });
    await lend.exchange({ discovered: [project("default"), project("payroll")] });
    const shop = await s.ask("POST", "/v1/apikeys?org=shop", { body: { id: "of-rules", role: "admin" } });
    for (const id of ["default", "payroll"]) {
      const taken = await s.ask("PUT", `/v1/appprojects/${id}?org=shop&adopt=true`, {
        body: { spec: { agent: "account.rules", sourceRepos: ["https://evil.example/*"] } },
        key: shop.body.key,
      });
      expect(taken).toMatchObject({
        status: 409,
        body: { code: "conflict", detail: expect.stringContaining("agent's scope") },
      });
      expect((await get(`/v1/appprojects/${id}?org=shop`)).body).toMatchObject({ origin: "discovered" });
    }
    const far = {
      collection: "clusters" as const,
      namespace: HOME,
      name: "far-secret",
      uid: "k-far",
      argoProject: "payroll",
    };
    await lend.exchange({
      discovered: [{ ...far, spec: { server: "https://payroll.example", namespaces: ["payroll"] } }],
    });
    const { items } = (await get("/v1/clusters?org=shop")).body;
    const wider = { agent: "account.rules", server: "https://payroll.example" };
    expect(
      await s.ask("PUT", `/v1/clusters/${items[0].id}?org=shop&adopt=true`, {
        body: { spec: wider },
        key: shop.body.key,
      }),
    ).toMatchObject({ status: 409, body: { code: "conflict" } });
    const url = "https://git.example/payroll.git";
    await lend.exchange({
      discovered: [{ ...far, collection: "repositories", name: "code", uid: "k-code", spec: { url } }],
    });
    expect(
      await s.ask("PUT", "/v1/repositories/code?org=shop&adopt=true", {
        body: { spec: { agent: "account.rules", url } },
        key: (await s.ask("POST", "/v1/apikeys?org=shop", { body: { id: "edits-rules", role: "editor" } })).body.key,
      }),
    ).toMatchObject({ status: 409, body: { code: "conflict", detail: expect.stringContaining("agent's scope") } });
    // What bears the scope's own mark was made from there.
    await lend.exchange({
      discovered: [{ ...far, name: "own", uid: "k-own", tenant: "shop/-", spec: { server: "https://own.example" } }],
    });
    const own = (await get("/v1/clusters?org=shop")).body.items.find(
      (one: { spec: { server: string } }) => one.spec.server === "https://own.example",
    );
    const again = { body: { spec: { agent: "account.rules", server: "https://own.example" } }, key: shop.body.key };
    expect((await s.ask("PUT", `/v1/clusters/${own.id}?org=shop&adopt=true`, again)).status).toBe(200);
    await s.ask("DELETE", "/v1/argoprojectmappings/rules");
    expect(await put("/v1/appprojects/payroll?adopt=true", { agent: "rules", sourceRepos: ["*"] })).toMatchObject({
      status: 200,
    });
  });
});

describe("actions and questions on what is not managed", () => {
  test("go to the agent by the live object, once, and the agent's refusal is the answer", async () => {
    const w = await agent("acts");
    await w.exchange({
      discovered: [app("busy", { status: { history: [{ id: 4, deployedAt: "2026-01-01T00:00:00Z" }] } })],
    });
    const live = { namespace: HOME, name: "busy", uid: "k-busy" };
    const next = () => eventually("a question", async () => (await w.exchange({ free: 10 })).tasks[0]);
    const asked = async (path: string, body: object, outcome: object) => {
      const asking = s.ask("POST", `/v1/applications/busy/${path}`, { body });
      const task = await next();
      await w.call(`tasks/${task.task}/result`, { fence: task.fence, ...outcome });
      return { task, answer: await asking };
    };
    const sync = await asked("sync", { prune: true }, { outcome: "succeeded", outputs: {} });
    expect(sync.task).toMatchObject({
      kind: "application.operate",
      params: { live, action: { sync: { request: { prune: true } } } },
    });
    expect(sync.answer).toMatchObject({ status: 202, body: { status: { operation: { phase: "Pending" } } } });
    const refused = await asked(
      "rollback",
      { id: 4 },
      { outcome: "failed", reason: "OperationRunning", message: "An operation runs." },
    );
    expect(refused.answer).toMatchObject({
      status: 422,
      body: { code: "agent_refused", detail: "An operation runs." },
    });
    expect(await s.ask("POST", "/v1/applications/busy/rollback", { body: { id: 5 } })).toMatchObject({
      status: 422,
      body: { pointer: "/id" },
    });
    expect(await s.ask("POST", "/v1/applications/busy/terminate")).toMatchObject({ status: 409 });
    expect((await get("/v1/applications/busy/history")).body.items).toMatchObject([{ id: 4 }]);

    const tree = get("/v1/applications/busy/tree");
    const task = await next();
    expect(task).toMatchObject({ kind: "application.tree", params: { live, name: "busy" } });
    await w.call(`tasks/${task.task}/result`, { fence: task.fence, outcome: "succeeded", outputs: { nodes: [] } });
    expect((await tree).body).toEqual({ nodes: [] });
    expect((await w.exchange()).objects).toEqual([]);
  });

  test("conditions of the agent itself are shown, and cannot stand for the service's", async () => {
    const w = await agent("says");
    const condition = {
      type: "EngineConflict",
      status: "True" as const,
      reason: "ArgoRuns",
      message: "Argo CD runs here.",
    };
    await w.exchange({ conditions: [condition, { ...condition, type: "DiscoveredLimit" }] });
    const shown = async () => (await get("/v1/agents/says")).body;
    const first = await shown();
    expect(first.status.conditions).toEqual([{ ...condition, lastTransitionTime: expect.any(String) }]);
    await w.exchange({ conditions: [condition] });
    expect((await shown()).version).toBe(first.version);
    await w.exchange({ conditions: [] });
    expect((await shown()).status.conditions).toEqual([]);
  });
});
