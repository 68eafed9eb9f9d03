import { writing } from "../../store/database/writer.ts";
import { insertObjects, type NewObject } from "../../store/objects/objects.ts";
import { startService, type TestService } from "../../testing/service.ts";

let s: TestService;
beforeAll(async () => {
  s = await startService();
  await put("/v1/organizations/o1", {});
  await put("/v1/organizations/o2", {});
}, 60_000);
afterAll(() => s?.stop());

const get = (path: string, key?: string) => s.ask("GET", path, key ? { key } : {});
const put = (path: string, spec: object) => s.ask("PUT", path, { body: { spec } });
const account = "default";

/** Applications as agents report them, written straight into the store. */
const applications = (org: string, objects: Partial<NewObject>[]) =>
  writing(s.db, account, (w) =>
    insertObjects(
      w,
      objects.map((o, n) => ({
        ...{ account, collection: "applications" as const, org, project: "", id: `app-${n}`, status: {} },
        ...o,
        spec: { agent: "a", destination: {}, ...o.spec },
      })),
    ),
  );

/** Every item of a list, in pages; `between` runs after each page. */
async function pages(
  query: string,
  limit: number,
  between: (page: any[]) => Promise<unknown> = async () => {},
): Promise<any[]> {
  const items: any[] = [];
  for (let cursor = ""; ; ) {
    const { status, body } = await get(`/v1/applications?${query}&limit=${limit}${cursor && `&cursor=${cursor}`}`);
    expect(status).toBe(200);
    items.push(...body.items);
    if (!body.nextCursor) return items;
    cursor = body.nextCursor;
    await between(body.items);
  }
}

describe("a list in an order", () => {
  const HEALTH = ["Healthy", "Degraded", "Progressing", undefined];
  beforeAll(() =>
    applications(
      "o1",
      Array.from({ length: 40 }, (_, n) => ({ status: HEALTH[n % 4] ? { health: { status: HEALTH[n % 4] } } : {} })),
    ),
  );

  test.each([
    "health",
    "-health",
    "id",
    "-id",
    "createdAt",
    "-updatedAt",
    "agent",
    "owner",
    "repository",
    "sync",
    "cluster",
    "origin",
  ])("by %s has every object once, in that order, whatever the size of a page", async (sort) => {
    const whole = await pages(`org=o1&sort=${sort}`, 500);
    expect(await pages(`org=o1&sort=${sort}`, 7)).toEqual(whole);
    expect(new Set(whole.map(({ id }) => id)).size).toBe(40);
    const field = sort.replace("-", "");
    const keys = whole.map(
      (o) =>
        ({ health: o.status.health?.status ?? "", id: o.id, createdAt: o.createdAt, updatedAt: o.updatedAt })[field],
    );
    const sorted = [...keys].sort();
    expect(keys).toEqual(sort.startsWith("-") ? sorted.reverse() : sorted);
  });

  test("shows each object that does not change exactly once while others come, go and change", async () => {
    let n = 0;
    const seen = await pages("org=o1&sort=health", 5, async (page) => {
      n++;
      await applications("o1", [{ id: `new-${n}`, status: { health: { status: "Degraded" } } }]);
      // The object at the cursor itself goes.
      await s.db.query("delete from objects where org = 'o1' and id = $1", [page.at(-1).id]);
    });
    const still = new Set((await pages("org=o1", 500)).map(({ id }) => id).filter((id) => id.startsWith("app-")));
    const ids = seen.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect([...still].filter((id) => !ids.includes(id))).toEqual([]);
  });

  test("takes no cursor of another order, and none that was made up", async () => {
    const { nextCursor } = (await get("/v1/applications?org=o1&sort=health&limit=1")).body;
    expect((await get(`/v1/applications?org=o1&sort=-health&limit=1&cursor=${nextCursor}`)).body.code).toBe(
      "invalid_request",
    );
    expect((await get(`/v1/applications?org=o1&limit=1&cursor=${nextCursor}`)).body.code).toBe("invalid_request");
    for (const parts of [
      ["updatedAt", "yesterday", "", "", ""],
      ["updatedAt", 1e300, "", "", ""],
      ["updatedAt"],
      ["health", "\0", "", "", ""],
    ]) {
      const cursor = Buffer.from(JSON.stringify(parts)).toString("base64url");
      expect((await get(`/v1/applications?org=o1&sort=${parts[0]}&cursor=${cursor}`)).body.code).toBe(
        "invalid_request",
      );
    }
    expect((await get("/v1/applications?org=o1&sort=spec.agent")).body.code).toBe("invalid_request");
  });

  test("goes on behind an address longer than a cursor holds", async () => {
    const repoUrl = `https://git.example/${"ü".repeat(300)}`;
    await applications(
      "o2",
      [0, 1, 2].map(() => ({ spec: { source: { repoUrl } } })),
    );
    expect((await pages("org=o2&sort=repository", 1)).map(({ id }) => id)).toEqual(["app-0", "app-1", "app-2"]);
  });
});

describe("view=summary", () => {
  test("shows what a table needs, in a fraction of the whole", async () => {
    await put("/v1/organizations/sum", {});
    const resources = Array.from({ length: 20 }, (_, n) => ({
      version: "v1",
      kind: "Deployment",
      name: `web-${n}`,
      status: "Synced",
    }));
    await applications("sum", [
      {
        id: "web",
        spec: {
          agent: "account.prod",
          source: { repository: "code" },
          destination: { cluster: "account.eu", namespace: "shop" },
          labels: { team: "a" },
        },
        status: { sync: { status: "Synced", revision: "b".repeat(40) }, health: { status: "Healthy" }, resources },
      },
      {
        id: "found",
        origin: "generated",
        found: {
          owner: { kind: "applicationset", name: "set" },
          live: { namespace: "n", name: "found", uid: "u", labels: { team: "b" } },
        },
      },
    ]);
    const { body, text } = await get("/v1/applications?org=sum&view=summary");
    const times = { createdAt: expect.any(String), updatedAt: expect.any(String) };
    expect(body.items).toEqual([
      {
        ...{ id: "found", org: "sum", version: expect.any(String), ...times },
        ...{ agent: "a", origin: "generated", owner: "set", labels: { team: "b" } },
      },
      {
        ...{ id: "web", org: "sum", version: expect.any(String), ...times },
        ...{ agent: "account.prod", cluster: "account.eu", namespace: "shop", repository: "code" },
        ...{ sync: "Synced", health: "Healthy", revision: "b".repeat(40), labels: { team: "a" } },
      },
    ]);
    expect(text.length).toBeLessThan(2 * 420);
    const [found] = (await get("/v1/applications?org=sum&filter=id=found")).body.items;
    expect(found.version).toBe(body.items[0].version);
  });

  test.each(["organizations", "agents", "webhooks", "pipelines", "clusters"])("is there for %s", async (collection) => {
    if (collection === "webhooks") await put("/v1/webhooks/w?org=sum", { provider: "github" });
    const { status } = await get(`/v1/${collection}?view=summary&inherited=true&sort=-updatedAt`);
    expect(status).toBe(200);
  });
});

describe("counts", () => {
  beforeAll(async () => {
    await put("/v1/organizations/count", {});
    const status = (health: string) => ({ health: { status: health }, sync: { status: "Synced" } });
    await applications("count", [
      { status: status("Healthy"), spec: { labels: { "a.b/team": "x" } } },
      { status: status("Healthy") },
      { status: status("Degraded"), spec: { agent: "b" } },
      { status: {} },
    ]);
  });

  test.each([
    ["", { total: 4, groups: [{ by: {}, count: 4 }] }],
    [
      "&by=health",
      {
        total: 4,
        groups: [
          { by: { health: "Healthy" }, count: 2 },
          { by: { health: "Degraded" }, count: 1 },
          { by: {}, count: 1 },
        ],
      },
    ],
    [
      "&by=health,sync&filter=health=Healthy",
      { total: 2, groups: [{ by: { health: "Healthy", sync: "Synced" }, count: 2 }] },
    ],
    [
      "&by=labels.a.b/team&filter=labels.a.b/team exists",
      { total: 1, groups: [{ by: { "labels.a.b/team": "x" }, count: 1 }] },
    ],
    ["&by=agent&filter=id=none", { total: 0, groups: [] }],
    ["&filter=id=none", { total: 0, groups: [] }],
  ])("with `%s`", async (query, want) =>
    expect((await get(`/v1/counts/applications?org=count${query}`)).body).toEqual(want),
  );

  test("are those of a list with the same filter", async () => {
    for (const filter of [
      "id exists",
      "health!=Healthy",
      "agent in (a,b)",
      "id~app-1",
      "sync missing",
      "labels.a.b/team=x",
    ]) {
      const { total } = (await get(`/v1/counts/applications?inherited=true&filter=${filter}`)).body;
      expect([filter, total]).toEqual([filter, (await pages(`inherited=true&filter=${filter}`, 500)).length]);
    }
  });

  test("are only of what the caller may list", async () => {
    const body = { id: "reader", role: "viewer" };
    const key = (await s.ask("POST", "/v1/apikeys?org=count", { body })).body.key as string;
    expect((await get("/v1/counts/applications?org=count", key)).body.total).toBe(4);
    expect((await get("/v1/counts/applications?org=o1", key)).status).toBe(404);
    expect((await get("/v1/counts/applications?inherited=true", key)).status).toBe(404);
    expect((await get("/v1/counts/applications?org=none")).status).toBe(404);
  });

  test.each(["spec.agent", "nothing", "a,b,c,d,e", "labels.", "health,"])("by=%s is refused", async (by) =>
    expect((await get(`/v1/counts/applications?by=${by}`)).body.code).toBe("invalid_request"),
  );
});

describe("labels", () => {
  const SPECS: Record<string, object> = {
    organizations: {},
    agents: {},
    delegates: {},
    webhooks: { provider: "github" },
    services: {},
    environments: { type: "production" },
    pipelines: { steps: [{ id: "s", task: { kind: "shell.run", params: { script: "true" } } }] },
    repositories: { agent: "labelled", url: "https://git.example/a.git" },
    clusters: { agent: "labelled", server: "https://cluster.example" },
    argoprojectmappings: { agent: "labelled", argoProject: "shop", targetOrg: "o1" },
  };
  beforeAll(() => put("/v1/agents/labelled", {}));

  test.each(Object.keys(SPECS))("of %s select them in lists and counts", async (collection) => {
    const labels = { "shop.example/team": "blue" };
    expect((await put(`/v1/${collection}/blue`, { ...SPECS[collection], labels })).status).toBe(201);
    const filter = "filter=labels.shop.example/team=blue";
    expect((await get(`/v1/${collection}?${filter}`)).body.items).toMatchObject([{ id: "blue", spec: { labels } }]);
    expect((await get(`/v1/${collection}?${filter}&view=summary`)).body.items).toMatchObject([{ id: "blue", labels }]);
    expect((await get(`/v1/counts/${collection}?by=labels.shop.example/team&${filter}`)).body.total).toBe(1);
    for (const wrong of [{ "not a key": "x" }, { team: "not a value!" }, { "outpost.dev/managed": "true" }])
      expect((await put(`/v1/${collection}/red`, { ...SPECS[collection], labels: wrong })).status).toBe(422);
  });
});
