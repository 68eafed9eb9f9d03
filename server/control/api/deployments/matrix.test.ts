import { addressOf } from "../../domain/services/placed.ts";
import { writing } from "../../store/database/writer.ts";
import { insertObjects, type NewObject } from "../../store/objects/objects.ts";
import { readMatrix } from "../../store/services/matrix.ts";
import { startService, type TestService } from "../../testing/service.ts";

let s: TestService;
const account = "default";
beforeAll(async () => {
  s = await startService();
  for (const org of ["shop", "bank"]) await put(`/v1/organizations/${org}`, {});
  await put("/v1/services/cart?org=shop", { name: "Cart", type: "api", owner: "team-shop" });
  await put("/v1/environments/live", { type: "production", name: "Live" });
  await put("/v1/environments/dev?org=shop", { type: "pre-production" });
}, 60_000);
afterAll(() => s?.stop());

const put = (path: string, spec: object) => s.ask("PUT", path, { body: { spec } });
const get = async (path: string, key?: string) => (await s.ask("GET", path, key ? { key } : {})).body;

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
const pods = (ready: number, total: number) => ({ ready, total, workloads: [] });
const status = (revision: string, sync: string, health: string, more: object = {}) => ({
  sync: { status: sync, revision },
  health: { status: health },
  images: [`cart:${revision}`],
  ...more,
});

test("a cell tells the worst state, the revision if there is one, and the latest deployment", async () => {
  const cart = (environment: string) => ({ service: "cart", environment });
  const deployed = (deployedAt: string) => ({
    history: [
      { id: 1, deployedAt: "2026-01-01T00:00:00Z" },
      { id: 2, deployedAt },
    ],
  });
  await applications("shop", [
    { spec: cart("dev"), status: status("r2", "Synced", "Healthy", deployed("2026-03-01T00:00:00Z")) },
    {
      spec: cart("account.live"),
      status: status("r1", "Synced", "Healthy", { ...deployed("2026-02-01T00:00:00Z"), instances: pods(1, 2) }),
    },
    {
      spec: cart("account.live"),
      status: status("r2", "OutOfSync", "Progressing", { ...deployed("2026-02-03T00:00:00Z"), instances: pods(2, 3) }),
    },
    { spec: cart("account.live"), status: {} },
    { spec: { service: "org.cart" }, status: {} },
    { spec: { service: "not.a.reference", environment: "dev" }, status: {} },
  ]);
  const matrix = await get("/v1/matrix?org=shop");
  expect(matrix.environments).toEqual([{ org: "shop", id: "dev", type: "pre-production" }, { id: "live" }]);
  expect(matrix.items).toMatchObject([
    {
      service: { org: "shop", id: "cart" },
      name: "Cart",
      owner: "team-shop",
      cells: [
        {
          environment: { id: "live" },
          count: 3,
          revisions: 3,
          sync: "OutOfSync",
          health: "Unknown",
          deployedAt: "2026-02-03T00:00:00Z",
          ready: 3,
          total: 5,
          images: ["cart:r2", "cart:r1"],
          items: [
            { id: "app-3" },
            { id: "app-2", health: "Progressing" },
            { id: "app-1", revision: "r1", ready: 1, total: 2 },
          ],
        },
        { environment: { org: "shop", id: "dev" }, count: 1, revision: "r2", sync: "Synced", health: "Healthy" },
      ],
    },
  ]);
  expect(matrix.items[0].cells[0].revision).toBeUndefined();
  expect((await get("/v1/matrix?org=shop&filter=health=Healthy")).items[0].cells[0].count).toBe(1);
});

test("names and types are told of the scopes that are asked", async () => {
  const { environments } = await get("/v1/matrix?inherited=true&filter=org=shop");
  expect(environments).toEqual([
    { org: "shop", id: "dev", type: "pre-production" },
    { id: "live", type: "production", name: "Live" },
  ]);
});

test("a key of an organization is told nothing of what is above it but the names in its own applications", async () => {
  const { key } = (await s.ask("POST", "/v1/apikeys?org=shop", { body: { id: "reads", role: "viewer" } })).body;
  const { environments } = await get("/v1/matrix?org=shop", key);
  expect(environments).toEqual([{ org: "shop", id: "dev", type: "pre-production" }, { id: "live" }]);
});

test("pages hold whole services, each once", async () => {
  await applications(
    "bank",
    Array.from({ length: 40 }, (_, n) => ({ spec: { service: `s${n % 10}`, environment: `e${n % 3}` } })),
  );
  const names: string[] = [];
  let cells = 0;
  for (let cursor = ""; ; ) {
    const page = await get(`/v1/matrix?org=bank&limit=3${cursor && `&cursor=${cursor}`}`);
    names.push(...page.items.map((row: any) => row.service.id));
    cells += page.items
      .flatMap((row: any) => row.cells.map((cell: any) => cell.count))
      .reduce((a: number, b: number) => a + b, 0);
    if (!page.nextCursor) break;
    cursor = page.nextCursor;
  }
  expect(names).toEqual(Array.from({ length: 10 }, (_, n) => `s${n}`));
  expect(cells).toBe(40);
});

test("one service with many applications shows the 20 that are least well, and counts all", async () => {
  await put("/v1/organizations/many", {});
  const health = (n: number) => ({ health: { status: n === 57 ? "Degraded" : "Healthy" } });
  await applications(
    "many",
    Array.from({ length: 60 }, (_, n) => ({ spec: { service: "big", environment: "e" }, status: health(n) })),
  );
  const [cell] = (await get("/v1/matrix?org=many")).items[0].cells;
  expect([cell.count, cell.items.length, cell.items[0].id, cell.health]).toEqual([60, 20, "app-57", "Degraded"]);
});

test("SQL and memory agree on what a text names", async () => {
  const texts = [
    "cart",
    "org.cart",
    "account.cart",
    "account.",
    "org.",
    "",
    "a.b",
    ".",
    "Cart_1",
    "x".repeat(71),
    "x".repeat(72),
    "org.org.x",
    "account.a.b",
  ];
  await put("/v1/organizations/texts", {});
  await applications(
    "texts",
    texts.map((service) => ({ spec: { service, environment: "e" } })),
  );
  const scope = { account, org: "texts", project: "" };
  const rows = await readMatrix(s.db, scope, { inherited: false, filter: [], after: "", limit: 100 });
  const want = new Set(texts.map((text) => addressOf(text, scope)).filter((one) => one !== undefined));
  expect([...new Set(rows.map((row) => row.service))].sort()).toEqual([...want].sort());
});
