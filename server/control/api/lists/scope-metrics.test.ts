import { writing } from "../../store/database/writer.ts";
import { insertObjects, type NewObject } from "../../store/objects/objects.ts";
import { startService, type TestService } from "../../testing/service.ts";
import { labelsText } from "./exposition.ts";

let s: TestService;
let viewer: string;
beforeAll(async () => {
  s = await startService();
  for (const org of ["o1", "o2"]) await s.ask("PUT", `/v1/organizations/${org}`, { body: { spec: {} } });
  await s.ask("PUT", "/v1/agents/near", { body: { spec: {} } });
  await s.ask("PUT", "/v1/agents/own?org=o1", { body: { spec: {} } });
  const made = await s.ask("POST", "/v1/apikeys?org=o1", { body: { id: "scraper", role: "viewer" } });
  viewer = made.body.key;
}, 60_000);
afterAll(() => s?.stop());

const add = (objects: Partial<NewObject>[]) =>
  writing(s.db, "default", (w) =>
    insertObjects(
      w,
      objects.map((o, n) => ({
        ...{
          account: "default",
          collection: "applications" as const,
          org: "",
          project: "",
          id: `app-${n}`,
          status: {},
        },
        ...o,
        spec: { agent: "near", destination: { namespace: "shop" }, ...o.spec },
      })),
    ),
  );
const scrape = async (query = "", key?: string) => (await s.ask("GET", `/v1/metrics${query}`, key ? { key } : {})).text;
const linesOf = (text: string, name: string) =>
  text.split("\n").filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));

test("an application is one line that says what it is, and one for each measure", async () => {
  const operation = {
    phase: "Succeeded",
    startedAt: "2026-01-01T00:00:00Z",
    finishedAt: "2026-01-01T00:00:42Z",
  };
  const status = {
    sync: { status: "Synced" },
    health: { status: "Healthy" },
    operation,
    history: [{ id: 3 }, { id: 7 }],
    reportedAt: "2026-01-01T00:01:00.500Z",
  };
  await add([
    { id: "web", org: "o1", status, spec: { repository: "x", argoProject: "team" } },
    { id: "new", org: "o1", status: { operation: { phase: "Running", startedAt: "2026-01-01T00:00:00Z" } } },
  ]);
  const text = await scrape("?org=o1");
  expect(linesOf(text, "outpost_application_info")).toEqual([
    'outpost_application_info{org="o1",name="new",agent="near",argo_project="default",namespace="shop",origin="managed",sync="Unknown",health="Unknown",operation="Running"} 1',
    'outpost_application_info{org="o1",name="web",agent="near",argo_project="team",namespace="shop",origin="managed",sync="Synced",health="Healthy",operation="Succeeded"} 1',
  ]);
  const of = (name: string) => linesOf(text, `outpost_application_${name}`).map((line) => line.split(" ")[1]);
  expect(of("deployments_total")).toEqual(["0", "8"]);
  expect(of("operation_duration_seconds")).toEqual(["42"]);
  expect(of("operation_started_timestamp_seconds")).toEqual(["1767225600", "1767225600"]);
  expect(of("reported_timestamp_seconds")).toEqual(["1767225660.5"]);
  expect(linesOf(text, "outpost_agent_connected")).toEqual(['outpost_agent_connected{org="o1",name="own"} 0']);
});

test("a key sees its scope and those below, and nobody without a key sees anything", async () => {
  await add([{ id: "secret-plan", org: "o2" }]);
  const own = await s.ask("GET", "/v1/metrics?org=o1", { key: viewer });
  expect([own.status, own.headers.get("content-type")]).toEqual([200, "text/plain; version=0.0.4; charset=utf-8"]);
  expect(own.text).toContain('name="web"');
  expect(own.text).not.toContain("secret-plan");
  expect(await scrape()).toContain("secret-plan");
  for (const [query, key] of [
    ["", viewer],
    ["?org=o2", viewer],
    ["", "opk_default_wrong"],
  ] as const)
    expect((await s.ask("GET", `/v1/metrics${query}`, { key })).text).not.toContain("outpost_application_info");
  expect((await s.ask("GET", "/v1/metrics", { key: undefined })).status).toBe(401);
});

test("a scrape of several pages has each application once, and the lines of a metric stand together", async () => {
  const many = Array.from({ length: 2_345 }, (_, n) => ({ id: `many-${n}`, org: "o2" }));
  await add(many);
  const text = await scrape("?org=o2");
  const names = linesOf(text, "outpost_application_info").map((line) => /name="([^"]+)"/.exec(line)![1]);
  expect([names.length, new Set(names).size]).toEqual([2_346, 2_346]);
  const metrics = text
    .split("\n")
    .filter((line) => line && !line.startsWith("#"))
    .map((line) => line.split(/[{ ]/)[0]);
  expect(metrics.filter((name, n) => name !== metrics[n - 1])).toEqual([...new Set(metrics)]);
  expect(text).toMatch(/^outpost_scope_metrics_cut 0$/m);
});

test("what an agent says cannot break out of a label", () => {
  expect(labelsText({ a: 'x"} 1\nevil 1', b: "\\", c: "", d: undefined })).toBe('{a="x\\"} 1\\nevil 1",b="\\\\"}');
  expect(labelsText({})).toBe("");
  expect(labelsText({ a: "y".repeat(1_000) }).length).toBeLessThan(300);
});

test("a history whose numbers no counter holds costs no scrape", async () => {
  const history = [
    { id: 1e30, deployedAt: "2026-01-01T00:00:00Z" },
    { id: 4, deployedAt: "2026-01-01T00:00:00Z" },
  ];
  await add([{ id: "odd", org: "o2", status: { history } }]);
  expect(linesOf(await scrape("?org=o2"), "outpost_application_deployments_total")).toContain(
    'outpost_application_deployments_total{org="o2",name="odd"} 5',
  );
});
