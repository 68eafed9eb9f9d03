import { agentsOf } from "../testing/agents.ts";
import { startService, type TestService } from "../testing/service.ts";

// Agents of the account and of organisation a. Applications below their agent's scope may use a project of their own scope, of one above, or one that
// lists them; those of the agent's own scope may name anything.
let s: TestService;
const { put } = agentsOf(() => s);
const ORGS = ["a", "b"];
const AT: Record<string, string> = {
  account: "",
  a: "?org=a",
  "a/p": "?org=a&project=p",
  "a/q": "?org=a&project=q",
  b: "?org=b",
};
const source = { repoUrl: "https://git.example/x", path: "." };
const names: Record<string, string> = {};

beforeAll(async () => {
  s = await startService();
  for (const org of ORGS) {
    await put(`/v1/organizations/${org}`, {});
    for (const project of ["p", "q"]) await put(`/v1/projects/${project}?org=${org}`, {});
  }
  await put("/v1/agents/top", {});
  await put("/v1/agents/mid?org=a", {});
}, 120_000);
afterAll(() => s?.stop());

const agentFrom = (agent: string, scope: string): string => {
  if (agent === "top") return scope === "account" ? "top" : "account.top";
  return scope === "a" ? "mid" : "org.mid";
};
/** Makes a project and learns its name in the agent's namespace, which a report says to everybody else. */
async function project(agent: string, scope: string, allowedScopes: string[] | undefined): Promise<string> {
  const id = `p-${agent}-${scope.replace("/", "-")}-${allowedScopes === undefined ? "all" : allowedScopes.join("-").replaceAll("/", "-") || "none"}`;
  if (names[id]) return id;
  const spec = { agent: agentFrom(agent, scope), sourceRepos: ["*"], ...(allowedScopes ? { allowedScopes } : {}) };
  expect(await put(`/v1/appprojects/${id}${AT[scope]}`, spec)).toMatchObject({ status: 201 });
  const [row] = await s.db.query("select name from deliveries where collection = 'appprojects' and id = $1", [id]);
  names[id] = row!.name;
  return id;
}
const setOf = (agent: string, template: unknown, more: object = {}) => ({
  agent,
  generators: [{ list: { elements: [{ name: "x", project: "default" }] } }],
  template: {
    metadata: { name: "x" },
    spec: { destination: { name: "in-cluster" }, source: { repoURL: "https://h/x" }, ...(template as object) },
  },
  ...more,
});
const refusedAt = (pointer: string) => ({ status: 422, body: { code: "argo_project_not_allowed", pointer } });

// agent | scope of the project | allowedScopes | scope of the application | may use it
test.each<["top" | "mid", string, string[] | undefined, string, boolean]>([
  ["top", "account", undefined, "account", true],
  ["top", "account", undefined, "a", true],
  ["top", "account", undefined, "a/p", true],
  ["top", "account", [], "account", true],
  ["top", "account", [], "a", false],
  ["top", "account", ["a"], "a", true],
  ["top", "account", ["a"], "a/p", true],
  ["top", "account", ["a"], "b", false],
  ["top", "account", ["a/p"], "a", false],
  ["top", "account", ["a/p"], "a/p", true],
  ["top", "account", ["a/p"], "a/q", false],
  ["top", "a", undefined, "account", true],
  ["top", "a", undefined, "a", true],
  ["top", "a", undefined, "a/p", true],
  ["top", "a", undefined, "b", false],
  ["top", "a", [], "a", true],
  ["top", "a", [], "a/p", false],
  ["top", "a", ["b"], "b", true],
  ["top", "a/p", undefined, "a", false],
  ["top", "a/p", undefined, "a/p", true],
  ["top", "a/p", undefined, "a/q", false],
  ["top", "a/p", ["a/q"], "a/q", true],
  ["mid", "a", undefined, "a", true],
  ["mid", "a", undefined, "a/p", true],
  ["mid", "a", [], "a", true],
  ["mid", "a", [], "a/p", false],
  ["mid", "a", ["a/p"], "a/p", true],
  ["mid", "a", ["a/p"], "a/q", false],
  ["mid", "a/p", undefined, "a", true],
  ["mid", "a/p", undefined, "a/q", false],
])("agent %s, a project of %s for %j, an application of %s: %s", async (agent, of, allowed, user, may) => {
  const name = names[await project(agent, of, allowed)]!;
  const ref = agentFrom(agent, user);
  const app = await put(`/v1/applications/x${AT[user]}`, { agent: ref, argoProject: name, destination: {}, source });
  const set = await put(`/v1/applicationsets/x${AT[user]}`, setOf(ref, { project: name }));
  if (may) {
    expect([app.status, set.status].every((status) => status === 200 || status === 201)).toBe(true);
    for (const collection of ["applications", "applicationsets"])
      expect((await s.ask("DELETE", `/v1/${collection}/x${AT[user]}`)).status).toBe(204);
    return;
  }
  expect(app).toMatchObject(refusedAt("/spec/argoProject"));
  expect(set).toMatchObject(refusedAt("/spec/template/spec/project"));
});

describe("every way to name a project", () => {
  let mine: string;
  let theirs: string;
  let keyOfB: string;
  beforeAll(async () => {
    mine = names[await project("top", "b", undefined)]!;
    theirs = names[await project("top", "a", undefined)]!;
    keyOfB = (await s.ask("POST", "/v1/apikeys?org=b", { body: { id: "b", role: "admin" } })).body.key;
  });
  const app = (spec: object) => ({ agent: "account.top", destination: {}, source, ...spec });
  const putB = (path: string, spec: object) => s.ask("PUT", `${path}?org=b`, { key: keyOfB, body: { spec } });

  test.each<[string, () => object, string]>([
    ["left out", () => ({}), "/spec/argoProject"],
    ["default", () => ({ argoProject: "default" }), "/spec/argoProject"],
    ["empty", () => ({ argoProject: "" }), "/spec/argoProject"],
    ["another tenant's", () => ({ argoProject: theirs }), "/spec/argoProject"],
    ["another spelling", () => ({ argoProject: ` ${mine}` }), "/spec/argoProject"],
    ["capitals", () => ({ argoProject: mine.toUpperCase() }), "/spec/argoProject"],
    ["an id instead of a name", () => ({ argoProject: "p-top-b-all" }), "/spec/argoProject"],
  ])("an application: %s", async (_, spec, pointer) => {
    expect(await putB("/v1/applications/w", app(spec()))).toMatchObject(refusedAt(pointer));
    expect(await putB("/v1/applications/kept", app({ argoProject: mine }))).toMatchObject({
      status: expect.any(Number),
    });
    const changed = await s.ask("PATCH", "/v1/applications/kept?org=b", {
      key: keyOfB,
      body: { spec: { argoProject: null, ...spec() } },
    });
    expect(changed).toMatchObject(refusedAt(pointer));
  });

  const list = { elements: [{ name: "x" }] };
  const other = (project: string) => ({ template: { metadata: {}, spec: { project } } });
  test.each<[string, () => object, string]>([
    ["left out", () => setOf("account.top", {}), "/spec/template/spec/project"],
    ["empty", () => setOf("account.top", { project: "" }), "/spec/template/spec/project"],
    ["another tenant's", () => setOf("account.top", { project: theirs }), "/spec/template/spec/project"],
    [
      "of a generator",
      () => setOf("account.top", { project: mine }, { generators: [{ list: { ...list, ...other(theirs) } }] }),
      "/spec/generators/0/list/template/spec/project",
    ],
    [
      "of a generator in a matrix",
      () =>
        setOf(
          "account.top",
          { project: mine },
          { generators: [{ matrix: { generators: [{ list }, { list: { ...list, ...other(theirs) } }] } }] },
        ),
      "/spec/generators/0/matrix/generators/1/list/template/spec/project",
    ],
    [
      "of one generator, and none of the other",
      () => setOf("account.top", {}, { generators: [{ list: { ...list, ...other(mine) } }, { list }] }),
      "/spec/template/spec/project",
    ],
    [
      "of a patch",
      () => setOf("account.top", { project: mine }, { templatePatch: `spec: {project: ${theirs}}` }),
      "/spec/templatePatch",
    ],
  ])("a set: %s", async (_, spec, pointer) => {
    expect(await putB("/v1/applicationsets/w", spec())).toMatchObject(refusedAt(pointer));
    expect(await s.ask("GET", "/v1/applicationsets/w?org=b", { key: keyOfB })).toMatchObject({ status: 404 });
  });

  test("a set whose parameters decide is taken: the agent judges each application", async () => {
    expect(await putB("/v1/applicationsets/params", setOf("account.top", { project: "{{ .project }}" }))).toMatchObject(
      { status: 201 },
    );
  });

  test("a generator that brings its project needs none in the set's template", async () => {
    const spec = setOf("account.top", {}, { generators: [{ list: { ...list, ...other(mine) } }] });
    expect(await putB("/v1/applicationsets/covered", spec)).toMatchObject({ status: 201 });
  });

  test("what is hidden is refused like what is missing", async () => {
    const [hidden, missing] = [theirs, "nothing-000000000000"];
    const texts = [];
    for (const name of [hidden, missing]) {
      const { text } = await putB("/v1/applications/w", app({ argoProject: name }));
      texts.push(text.replaceAll(name, "NAME"));
    }
    expect(texts[0]!.replace(/"instance":"[^"]*"/, "")).toBe(texts[1]!.replace(/"instance":"[^"]*"/, ""));
  });

  test("a project that closes, or is deleted and made again, refuses every later change", async () => {
    await put("/v1/appprojects/closing", { agent: "top", allowedScopes: ["b"] });
    const spec = app({ argoProject: "closing" });
    expect(await putB("/v1/applications/late", spec)).toMatchObject({ status: 201 });
    await put("/v1/appprojects/closing", { agent: "top", allowedScopes: ["a"] });
    expect(await putB("/v1/applications/late", { ...spec, info: [{ name: "a", value: "b" }] })).toMatchObject(
      refusedAt("/spec/argoProject"),
    );
    expect(await putB("/v1/applications/late", spec)).toMatchObject(refusedAt("/spec/argoProject"));
    await s.ask("DELETE", "/v1/appprojects/closing?force=true");
    expect(await putB("/v1/applications/late", spec)).toMatchObject(refusedAt("/spec/argoProject"));
    await put("/v1/appprojects/closing", { agent: "top", allowedScopes: [] });
    expect(await putB("/v1/applications/late", spec)).toMatchObject(refusedAt("/spec/argoProject"));
    expect(await putB("/v1/applications/late", app({ appProject: "account.closing" }))).toMatchObject(
      refusedAt("/spec/appProject"),
    );
  });

  test("a project of another agent is none", async () => {
    await put("/v1/agents/beside", {});
    await put("/v1/appprojects/elsewhere", { agent: "beside" });
    expect(await putB("/v1/applications/w", app({ argoProject: "elsewhere" }))).toMatchObject(
      refusedAt("/spec/argoProject"),
    );
  });
});

test("a project below its agent's scope names no accounts, and only a project above as its limit", async () => {
  await put("/v1/appprojects/above", { agent: "top", allowedScopes: ["a"] });
  await put("/v1/appprojects/same?org=a", { agent: "account.top" });
  const below = (spec: object, query = "?org=a") =>
    put(`/v1/appprojects/below${query}`, { agent: "account.top", ...spec });
  const admin = { server: "*", defaultServiceAccount: "kube-system:admin" };
  expect(await below({ destinationServiceAccounts: [admin] })).toMatchObject({
    status: 422,
    body: { code: "invalid_field", pointer: "/spec/destinationServiceAccounts" },
  });
  expect(await below({ within: "same" })).toMatchObject({
    status: 422,
    body: { code: "invalid_field", pointer: "/spec/within" },
  });
  expect(await below({ within: "account.above" }, "?org=b")).toMatchObject(refusedAt("/spec/within"));
  expect(await below({ within: "account.above" })).toMatchObject({ status: 201 });
  expect(await put("/v1/appprojects/top", { agent: "top", within: "above" })).toMatchObject({
    status: 422,
    body: { code: "invalid_field", pointer: "/spec/within" },
  });
});

test("an object that was delivered under an older name keeps it, and so does whatever refers to it", async () => {
  const { agent } = agentsOf(() => s);
  const w = await agent("old");
  await put("/v1/appprojects/all?org=a", { agent: "account.old" });
  const app = (more: object) => ({ agent: "account.old", appProject: "all", destination: {}, source, ...more });
  await put("/v1/applications/first?org=a", app({}));
  for (const id of ["all", "first"])
    await s.db.query(
      "update deliveries set name = $1 where id = $2 and org = 'a' and agent_uid = (select uid from objects where id = 'old')",
      [`${id}-abc123`, id],
    );
  await put("/v1/applications/second?org=a", app({ waitsFor: ["first"] }));
  await put("/v1/applications/first?org=a", app({ info: [{ name: "a", value: "b" }] }));
  const { objects } = await w.exchange();
  const [project, first, second] = ["all", "first", "second"].map(
    (id) => objects.find(({ key }) => key === `a/-/${id}`)!,
  );
  expect([project!.name, first!.name]).toEqual(["all-abc123", "first-abc123"]);
  expect(second!.name).toMatch(/^second-[0-9a-f]{12}$/);
  expect([first!.resolved!.appProject, second!.resolved!.appProject]).toEqual(["all-abc123", "all-abc123"]);
  expect(second!.resolved!.waitsFor).toEqual(["first-abc123"]);
  expect(
    await put("/v1/applications/third?org=a", app({ appProject: undefined, argoProject: "all-abc123" })),
  ).toMatchObject({
    status: 201,
  });
});
