import { person } from "../testing.ts";

const cell = (environment: string, more: object = {}) => ({
  environment: { id: environment },
  count: 1,
  revision: "4f2c91a0000000000000000000000000000000aa",
  revisions: 1,
  sync: "Synced",
  health: "Healthy",
  images: ["cart:v2"],
  items: [],
  ...more,
});
const pages: Record<string, object> = {
  "": {
    items: [
      { service: { org: "shop", id: "cart" }, cells: [cell("dev"), cell("live", { count: 3, ready: 5, total: 6 })] },
    ],
    environments: [{ id: "dev" }, { id: "live", type: "production" }],
    nextCursor: "next",
  },
  next: {
    items: [
      {
        service: { id: "search" },
        cells: [
          cell("live", { count: 2, revision: undefined, revisions: 2, sync: "OutOfSync", health: "Degraded" }),
          cell("test"),
        ],
      },
    ],
    environments: [{ id: "test" }, { id: "live", type: "production" }],
  },
};

test("the matrix has all pages in one table, production last, and tells what is not well", async () => {
  const me = person(({ url }) => ({ body: pages[url.searchParams.get("cursor") ?? ""]! }));
  const { exit, out } = await me.types("service", "matrix", "--filter", "agent=prod");
  expect(exit).toBe(0);
  expect(out).toBe(
    [
      "SERVICE    DEV           TEST          LIVE",
      "shop/cart  4f2c91a00000  -             4f2c91a00000 *3 5/6",
      "search     -             4f2c91a00000  2 revisions *2 OutOfSync Degraded",
      "",
    ].join("\n"),
  );
  expect(me.requests.map(({ url }) => url.searchParams.get("filter"))).toEqual(["agent=prod", "agent=prod"]);
});

test("wide cells have the images, and names are those of services", async () => {
  const me = person(() => ({ body: pages.next! }));
  expect((await me.types("service", "matrix", "-o", "wide")).out).toContain("4f2c91a00000 cart:v2");
  expect((await me.types("service", "matrix", "-o", "name")).out).toBe("search\n");
});

const deployment = {
  id: "d1",
  org: "shop",
  service: { id: "cart" },
  environment: { id: "live" },
  application: "cart-live",
  outcome: "Failed",
  message: "no such image",
  initiatedBy: "eve",
  revision: "v2",
  startedAt: "2026-01-01T00:00:00Z",
  finishedAt: "2026-01-01T00:01:00Z",
};

test("deployments are a table, and one of them tells all", async () => {
  const me = person(({ operation }) => ({
    body: operation === "getDeployment" ? deployment : { items: [deployment] },
  }));
  const { out } = await me.types("service", "deployments", "cart", "--environment", "live", "--outcome", "Failed");
  expect(out).toMatch(/d1 +cart +live +v2 +Failed .* eve +shop\/cart-live/);
  expect(Object.fromEntries(me.requests[0]!.url.searchParams)).toMatchObject({
    service: "cart",
    environment: "live",
    outcome: "Failed",
    limit: "50",
  });
  expect((await me.types("service", "deployment", "d1")).out).toMatch(/message: +no such image/);
  expect((await me.types("service", "deployments", "--limit", "0")).exit).toBe(2);
});

test("a rollback names the deployment and says where it goes", async () => {
  const me = person(() => ({ status: 202, body: { id: "cart-live", spec: {}, status: {} } }));
  const { exit, err } = await me.types("service", "rollback", "d1", "--prune", "--no-wait");
  expect([exit, err]).toEqual([0, "✓ app cart-live goes back to deployment d1\n"]);
  expect(me.requests.at(-1)).toMatchObject({ operation: "rollbackDeployment", body: { prune: true } });
});

test("the instances of an application are its workloads", async () => {
  const workloads = [
    {
      group: "apps",
      kind: "Deployment",
      namespace: "web",
      name: "cart",
      ready: 1,
      total: 2,
      version: "2.0",
      images: ["cart:2"],
    },
  ];
  const me = person(() => ({ body: { id: "a", spec: {}, status: { instances: { ready: 1, total: 2, workloads } } } }));
  expect((await me.types("app", "instances", "a")).out).toMatch(/apps\/Deployment web\/cart +1\/2 +2\.0 +cart:2/);
  const none = await person(() => ({ body: { id: "a", spec: {}, status: {} } })).types("app", "instances", "a");
  expect([none.exit, none.err]).toEqual([0, expect.stringContaining("no workloads")]);
});
