import { startService, type TestService } from "../../testing/service.ts";

let s: TestService;
beforeAll(async () => {
  s = await startService();
  await put("/v1/organizations/shop", {});
  for (const id of ["prod", "dev"]) await put(`/v1/agents/${id}`, {});
  for (const id of ["east", "west"])
    await put(`/v1/clusters/${id}`, { agent: "prod", server: `https://${id}.example` });
});
afterAll(() => s?.stop());

const ask = (method: string, path: string, spec?: object) =>
  s.ask(method, path, spec === undefined ? {} : { body: { spec } });
async function put(path: string, spec: object): Promise<void> {
  const { status, body } = await ask("PUT", path, spec);
  if (status > 201) throw new Error(`${path}: ${JSON.stringify(body)}`);
}
const app = (more: object = {}) => ({
  agent: "prod",
  destination: {},
  source: { repoUrl: "https://h/x", path: "." },
  ...more,
});

test("an application deploys only to a cluster that its environment links", async () => {
  await put("/v1/environments/linked", { type: "production", clusters: ["east"], agents: ["dev"] });
  const to = (more: object) => ask("PUT", "/v1/applications/a", app({ environment: "linked", ...more }));
  expect(await to({})).toMatchObject({
    status: 422,
    body: { pointer: "/spec/environment", detail: expect.stringContaining("the cluster of agent `prod`") },
  });
  expect(await to({ destination: { cluster: "west" } })).toMatchObject({
    status: 422,
    body: { detail: expect.stringContaining("cluster `west`") },
  });
  expect((await to({ destination: { cluster: "east" } })).status).toBe(201);
  expect((await ask("PUT", "/v1/applications/b", app({ agent: "dev", environment: "linked" }))).status).toBe(201);
});

test("an environment without links takes every cluster", async () => {
  await put("/v1/environments/open", { type: "pre-production" });
  expect((await ask("PUT", "/v1/applications/c", app({ environment: "open" }))).status).toBe(201);
});

test("links cannot be taken from under an application", async () => {
  await put("/v1/environments/kept", { type: "production", clusters: ["east", "west"] });
  await put("/v1/applications/kept", app({ environment: "kept", destination: { cluster: "west" } }));
  expect(await ask("PUT", "/v1/environments/kept", { type: "production", clusters: ["east"] })).toMatchObject({
    status: 409,
    body: { code: "in_use", detail: expect.stringContaining("`kept`") },
  });
  // The agent's own cluster is another one than the registered cluster.
  expect((await ask("PUT", "/v1/environments/kept", { type: "production", agents: ["prod"] })).status).toBe(409);
  expect((await ask("PUT", "/v1/environments/kept", { type: "production", clusters: ["west"] })).status).toBe(200);
  expect((await ask("PUT", "/v1/environments/kept", { type: "production" })).status).toBe(200);
});

test("a service and an environment that are in use cannot be deleted", async () => {
  await put("/v1/services/used", { type: "api", owner: "team-shop" });
  await put("/v1/environments/used", { type: "production" });
  await put("/v1/applications/used", app({ service: "used", environment: "used" }));
  for (const path of ["/v1/services/used", "/v1/environments/used"])
    expect(await ask("DELETE", path)).toMatchObject({ status: 409, body: { code: "in_use" } });
  await ask("PUT", "/v1/applications/used", app());
  for (const path of ["/v1/services/used", "/v1/environments/used"])
    expect((await ask("DELETE", path)).status).toBe(204);
});

test("lists, counts and summaries know the service and the environment", async () => {
  await put("/v1/services/cart?org=shop", {});
  await put("/v1/environments/live", { type: "production" });
  await put("/v1/agents/shop?org=shop", {});
  await put("/v1/applications/cart?org=shop", app({ agent: "shop", service: "cart", environment: "account.live" }));
  const harness = { "harness.io/serviceRef": "cart", "harness.io/envRef": "account.live" };
  await put("/v1/applications/labelled?org=shop", app({ agent: "shop", labels: harness }));
  const filter = "filter=service=cart,environment=account.live&view=summary";
  const { body } = await ask("GET", `/v1/applications?org=shop&${filter}`);
  expect(body.items).toMatchObject([
    { id: "cart", service: "cart", environment: "account.live" },
    { id: "labelled", service: "cart", environment: "account.live" },
  ]);
  const counts = await ask("GET", "/v1/counts/applications?org=shop&by=service,environment");
  expect(counts.body.groups).toEqual([{ by: { service: "cart", environment: "account.live" }, count: 2 }]);
});

test.each([
  ["environment without a type", "environments", {}],
  ["environment of another type", "environments", { type: "staging" }],
  ["environment with a cluster twice", "environments", { type: "production", clusters: ["east", "east"] }],
  ["environment of an unknown cluster", "environments", { type: "production", clusters: ["none"] }],
  ["service whose type is a sentence", "services", { type: "An API" }],
  ["set whose service is no id", "applicationsets", { service: "Not an id" }],
])("a wrong specification is refused: %s", async (_what, collection, spec) => {
  const set = { agent: "prod", generators: [{ list: { elements: [] } }], template: { metadata: { name: "x" } } };
  const whole = collection === "applicationsets" ? { ...set, ...spec } : spec;
  expect((await ask("PUT", `/v1/${collection}/bad`, whole)).body.code).toMatch(
    /^(invalid_request|reference_not_found)$/,
  );
});
