import { RESOURCES } from "../../server/kube/path.ts";
import { CONFIG_MAP, configMap, synced, value, type World, world } from "./engine-world.ts";

const SECRET = RESOURCES.secret;
const LOOKUP = "outpost.dev/helm-lookup";
const HIDDEN = "correct-horse-battery-staple";
const RBAC = "rbac.authorization.k8s.io";
const role = { group: RBAC, version: "v1", kind: "Role", plural: "roles", namespaced: true };
const binding = { group: RBAC, version: "v1", kind: "RoleBinding", plural: "rolebindings", namespaced: true };

let w: World;
beforeAll(async () => {
  w = await world();
  for (const name of ["shop", "vault"]) {
    value(await w.client.create(RESOURCES.namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name } }));
  }
  const secret = (namespace: string, name: string, text: string) =>
    w.client.create(SECRET, {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name, namespace },
      stringData: { k: text },
    });
  value(await secret("shop", "open", "seen"));
  value(await secret("shop", "hidden", HIDDEN));
  value(await secret("vault", "hidden", HIDDEN));
  const apiVersion = `${RBAC}/v1`;
  const rules = [
    { apiGroups: [""], resources: ["secrets"], resourceNames: ["open", "later"], verbs: ["get", "update", "create"] },
  ];
  value(
    await w.client.create(role, { apiVersion, kind: "Role", metadata: { name: "reader", namespace: "shop" }, rules }),
  );
  const subjects = [{ kind: "ServiceAccount", name: "reader", namespace: "shop" }];
  const roleRef = { apiGroup: RBAC, kind: "Role", name: "reader" };
  value(
    await w.client.create(binding, {
      apiVersion,
      kind: "RoleBinding",
      metadata: { name: "reader", namespace: "shop" },
      subjects,
      roleRef,
    }),
  );
}, 90_000);
afterAll(() => w?.stop(), 30_000);

const chart = (body: string) => ({
  "Chart.yaml": "apiVersion: v2\nname: c\nversion: 0.1.0\n",
  "templates/cm.yaml": `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: found}\ndata:\n${body}`,
});
const find = (name: string, namespace = "shop") =>
  `  found: {{ dig "data" "k" "nothing" (lookup "v1" "Secret" "${namespace}" "${name}") | quote }}\n`;
const app = (name: string, account?: string, repo = name) =>
  w.app(
    name,
    { repo, destination: { name: "in-cluster", namespace: "shop" } },
    account === undefined ? {} : { annotations: { [LOOKUP]: account } },
  );
const condition = async (name: string) => {
  const failed = await w.until(
    name,
    (a) => a.status?.conditions?.some(({ type }) => type !== "Reconciling"),
    "refused",
  );
  return failed.status!;
};
const leaks = (what: unknown) => {
  const text = JSON.stringify(what);
  return [HIDDEN, Buffer.from(HIDDEN).toString("base64")].some((one) => text.includes(one));
};

test("a chart looks up what its account may read, sees what the cluster has, and is rendered again without a commit", async () => {
  const asks = '  widgets: {{ .Capabilities.APIVersions.Has "argoproj.io/v1alpha1/Application" | quote }}\n';
  const version = "  version: {{ .Capabilities.KubeVersion.Version }}\n";
  await w.git.createRepository("seeing", {
    files: chart(find("open") + find("later").replace("found:", "later:") + asks + version),
  });
  await app("seeing", "reader");
  await w.until("seeing", synced, "Synced");
  const first = await w.object(CONFIG_MAP, "shop", "found");
  expect(first?.data).toMatchObject({
    found: Buffer.from("seen").toString("base64"),
    later: "nothing",
    widgets: "true",
  });
  const { gitVersion } = value(await w.client.json<{ gitVersion: string }>("GET", "/version"));
  expect(first?.data.version).toBe(gitVersion);

  value(
    await w.client.create(SECRET, {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "later", namespace: "shop" },
      data: { k: "eA==" },
    }),
  );
  await w.refresh("seeing");
  await w.until("seeing", synced, "Synced");
  const second = await w.object(CONFIG_MAP, "shop", "found");
  expect(second?.data.later).toBe("eA==");

  // A Secret the account may not read: nothing of it is anywhere, and nothing is taken away.
  await w.git.commit("seeing", chart(find("hidden")), "greedy");
  await w.refresh("seeing");
  const refused = await w.until("seeing", (a) => a.status?.sync?.status === "Unknown", "Unknown");
  expect(refused.status?.conditions).toMatchObject([
    { type: "ComparisonError", message: expect.stringMatching(/cannot get|forbidden/i) },
  ]);
  expect(leaks(refused)).toBe(false);
  expect((await w.object(CONFIG_MAP, "shop", "found"))?.metadata.uid).toBe(second?.metadata.uid);
}, 60_000);

test("without the annotation a chart sees nothing of the cluster", async () => {
  await w.git.createRepository("blind", { files: chart(find("open")) });
  await w.app("blind", { repo: "blind" });
  await w.until("blind", synced, "Synced");
  expect((await w.object(CONFIG_MAP, "blind", "found"))?.data).toEqual({ found: "nothing" });
}, 30_000);

const refusals: [string, string, string, RegExp][] = [
  ["of another namespace, where the account may read nothing", "shop:reader", find("hidden", "vault"), /forbidden/i],
  ["all of a kind", "reader", '  all: {{ lookup "v1" "Secret" "" "" | toJson | quote }}\n', /forbidden/i],
  ["as an account that has no rights", "nobody", find("open"), /forbidden/i],
  ["as no account at all", "../admin", find("open"), /must be an account's name/],
];
test.each(refusals)(
  "a chart that looks up %s is refused, and nothing of it is told",
  async (what, account, body, want) => {
    const name = `no-${what.replace(/[^a-z]+/g, "-").slice(0, 30)}x`;
    await w.git.createRepository(name, { files: chart(body) });
    await app(name, account);
    const status = await condition(name);
    expect(JSON.stringify(status.conditions)).toMatch(want);
    expect(status.sync?.status).toBe("Unknown");
    expect(leaks(status)).toBe(false);
  },
  30_000,
);

test("no other tool is started where a credential of the cluster is near", async () => {
  const kustomization = "resources: [cm.yaml]\n";
  await w.git.createRepository("other", {
    files: { "kustomization.yaml": kustomization, "cm.yaml": configMap("cm", { k: "v" }) },
  });
  await app("other", "reader");
  expect(JSON.stringify((await condition("other")).conditions)).toMatch(/has no Kustomize source beside them/);
}, 30_000);

test("a project that does not deploy to a namespace cannot read as an account of it", async () => {
  const project = {
    apiVersion: "argoproj.io/v1alpha1",
    kind: "AppProject",
    metadata: { name: "shop-only", namespace: w.namespace },
    spec: { sourceRepos: ["*"], destinations: [{ server: "*", namespace: "shop" }] },
  };
  value(await w.client.create(RESOURCES.appProject, project));
  await w.git.createRepository("reaching", { files: chart(find("hidden", "vault")) });
  await w.app(
    "reaching",
    { repo: "reaching", project: "shop-only", destination: { name: "in-cluster", namespace: "shop" } },
    { annotations: { [LOOKUP]: "vault:default" } },
  );
  const status = await condition("reaching");
  expect(JSON.stringify(status.conditions)).toMatch(/to which the project does not deploy.*HelmLookupNotPermitted/);
}, 30_000);
