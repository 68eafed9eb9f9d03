import { person, type Seen } from "../testing.ts";

const argo = (kind: string, name: string, spec: object, metadata: object = {}) => ({
  apiVersion: "argoproj.io/v1alpha1",
  kind,
  metadata: { name, namespace: "argocd", ...metadata },
  spec,
});
const source = { repoURL: "https://git.example.com/shop.git", path: "deploy", targetRevision: "main" };
const home = { server: "https://kubernetes.default.svc", namespace: "shop" };
const web = argo("Application", "web", {
  project: "team",
  source,
  destination: home,
  syncPolicy: { automated: { prune: true } },
});

const list = (...items: object[]) => JSON.stringify({ apiVersion: "v1", kind: "List", items });
const service =
  (answer: (seen: Seen) => object | undefined = () => undefined) =>
  (seen: Seen) => {
    const own = answer(seen);
    if (own) return own;
    if (seen.operation === "listClusters")
      return { body: { items: [{ id: "eu", spec: { agent: "prod", server: "https://eu.example" } }] } };
    if (seen.operation === "listApplications") return { body: { items: [{ id: "old" }] } };
    return { body: seen.operation?.startsWith("list") ? { items: [] } : { id: "x" } };
  };
const imports = async (text: string, flags: string[] = [], answers = service()) => {
  const me = person(answers, { stdin: async () => text });
  const got = await me.types("admin", "import", "-f", "-", "--agent", "prod", "-o", "json", ...flags);
  const items = got.out
    ? (JSON.parse(got.out).items as { object: string; becomes?: string; result: string; leftOut: string[] }[])
    : [];
  const sent = me.requests.filter(({ operation }) => operation?.startsWith("put"));
  return { ...got, items, sent };
};

test("without --apply nothing is written, and what would be made is shown", async () => {
  const { exit, items, sent } = await imports(list(web, argo("AppProject", "team", { sourceRepos: ["*"] })));
  expect([exit, sent]).toEqual([0, []]);
  expect(items.map(({ becomes, result }) => `${becomes}: ${result}`)).toEqual([
    "app web: would be created",
    "appproject team: would be created",
  ]);
  const me = person(service(), { stdin: async () => list(web) });
  const { out, err } = await me.types("admin", "import", "-f", "-", "--agent", "prod");
  expect(out).toMatch(/Application argocd\/web +app web +would be created/);
  expect(err).toContain("1 object would be created, 0 left out; --apply creates them");
});

test("--apply creates projects before their applications, and never changes what is there", async () => {
  const { exit, sent } = await imports(list(web, argo("AppProject", "team", { sourceRepos: ["*"] })), ["--apply"]);
  expect(exit).toBe(0);
  expect(sent.map(({ operation, headers }) => [operation, headers["if-none-match"]])).toEqual([
    ["putAppProject", "*"],
    ["putApplication", "*"],
  ]);
  expect(sent[1]!.body.spec).toEqual({
    agent: "prod",
    appProject: "team",
    source: { repoUrl: source.repoURL, path: "deploy", targetRevision: "main" },
    destination: { namespace: "shop" },
    syncPolicy: { automated: { prune: true } },
  });
});

test("a registered cluster is found by its address", async () => {
  const app = argo("Application", "eu-web", {
    project: "default",
    source,
    destination: { server: "https://eu.example/" },
  });
  const { sent } = await imports(list(app), ["--apply"]);
  expect(sent[0]!.body.spec).toMatchObject({ argoProject: "default", destination: { cluster: "eu" } });
});

test.each([
  [
    argo("Application", "made", web.spec, {
      ownerReferences: [
        { apiVersion: "argoproj.io/v1alpha1", kind: "ApplicationSet", name: "sets", uid: "u", controller: true },
      ],
    }),
    "application set sets makes it",
  ],
  [
    argo("Application", "far", { ...web.spec, destination: { server: "https://no.example" } }),
    "no cluster https://no.example",
  ],
  [argo("Application", "old", web.spec), "there is app old already"],
  [argo("Application", "web.shop", web.spec), "its name is no id"],
  [argo("AppProject", "default", { sourceRepos: ["*"] }), "each agent has one of its own"],
  [
    { apiVersion: "v1", kind: "Secret", metadata: { name: "repo-1" }, data: { password: "aHVudGVyMg==" } },
    "credentials are not read",
  ],
  [{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "argocd-cm" } }, "it is not an Application"],
])("what cannot be made is left out with the reason: %j", async (object, why) => {
  const { exit, items, sent, out } = await imports(list(object), ["--apply"]);
  expect([exit, items[0]!.becomes, sent]).toEqual([0, undefined, []]);
  expect(items[0]!.result).toContain(`left out: ${why}`);
  expect(out).not.toContain("hunter2");
});

test("fields that our specification has no place for are named", async () => {
  const app = argo("Application", "web", { ...web.spec, sourceHydrator: { drySource: {} } });
  expect((await imports(list(app))).items[0]!.leftOut).toEqual(["sourceHydrator"]);
});

test("an object that the service refuses does not keep the others, and the command fails", async () => {
  const refuse = service(({ operation }) =>
    operation === "putAppProject"
      ? {
          status: 422,
          body: { code: "invalid_field", status: 422, detail: "no such glob", title: "", type: "about:blank" },
        }
      : undefined,
  );
  const { exit, items } = await imports(list(argo("AppProject", "team", {}), web), ["--apply"], refuse);
  expect(exit).toBe(1);
  expect(items.map(({ result }) => result)).toEqual(["failed: no such glob", "created"]);
});

test.each([
  ["no object", "", "holds no object"],
  ["no YAML", "a: [", ""],
])("a file with %s is exit code 2", async (_, text, want) => {
  const { exit, err } = await imports(text);
  expect([exit, err]).toEqual([2, expect.stringContaining(want)]);
});
