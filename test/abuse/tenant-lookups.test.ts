import { SetController } from "../../server/agent/appset/controller.ts";
import { APPLICATION_SET } from "../../server/agent/appset/reconcile/reconcile.ts";
import type { Application } from "../../server/agent/controller/application.ts";
import { ALLOWED_SCOPES, TENANT } from "../../server/agent/project/tenant.ts";
import { RESOURCES, type Resource } from "../../server/kube/path.ts";
import { CONFIG_MAP, configMap, project, synced, value, type World, world } from "../journeys/engine-world.ts";
import { B, OWN } from "./tenant-tricks.ts";

// Charts of b that look at the cluster. The account that b's project was given may read everything, so that only b's scope and its project, which
// deploys to team-b alone, are in the way.
const CANARY = "canary-of-others";
const LOOKUP = "outpost.dev/helm-lookup";
const RBAC = "rbac.authorization.k8s.io";
const BINDING: Resource = {
  group: RBAC,
  version: "v1",
  kind: "ClusterRoleBinding",
  plural: "clusterrolebindings",
  namespaced: false,
};

let w: World;
beforeAll(async () => {
  w = await world();
  for (const name of ["team-a", "team-b", "b-only"])
    value(await w.client.create(RESOURCES.namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name } }));
  const secret = async (namespace: string, name: string, text: string, labels = {}) =>
    value(
      await w.client.create(RESOURCES.secret, {
        apiVersion: "v1",
        kind: "Secret",
        metadata: { name, namespace, labels },
        stringData: { k: text, url: "https://git.example/a", password: text },
      }),
    );
  await secret("team-a", "theirs", CANARY);
  await secret("kube-system", "theirs", CANARY);
  await secret(OWN, "theirs", CANARY);
  await secret(OWN, "repo-a", CANARY, { "argocd.argoproj.io/secret-type": "repository" });
  await secret("team-b", "own", "seen");
  const wide = { sourceRepos: ["*"], clusterResourceWhitelist: [{ group: "*", kind: "*" }] };
  const accounts = {
    destinationServiceAccounts: [{ server: "*", namespace: "*", defaultServiceAccount: "team-b:all" }],
  };
  await project(w, "limit", { ...wide, destinations: [{ server: "*", namespace: "*" }], ...accounts });
  await project(w, "b", { ...wide, destinations: [{ server: "*", namespace: "team-b" }] });
  const annotate = async (name: string, annotations: object) =>
    value(await w.client.mergePatch(RESOURCES.appProject, OWN, name, { metadata: { annotations } }));
  await annotate("limit", { [ALLOWED_SCOPES]: "b" });
  await annotate("b", { [TENANT]: B });
  value(
    await w.client.create(BINDING, {
      apiVersion: `${RBAC}/v1`,
      kind: "ClusterRoleBinding",
      metadata: { name: "all" },
      roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: "cluster-admin" },
      subjects: [{ kind: "ServiceAccount", name: "all", namespace: "team-b" }],
    } as never),
  );
}, 120_000);
afterAll(() => w?.stop(), 60_000);

const body = (name: string, found: string) =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\ndata:\n  found: {{ ${found} | toJson | b64enc | quote }}\n`;
const chart = (name: string, found: string) => ({
  "Chart.yaml": "apiVersion: v2\nname: c\nversion: 0.1.0\n",
  "templates/cm.yaml": body(name, found),
});
const secretIn = (namespace: string) => `lookup "v1" "Secret" "${namespace}" "theirs"`;

/** What a chart asks for; it is asked by each of the ways below. */
const ASKED: [name: string, found: string][] = [
  ["a Secret of a's namespace", secretIn("team-a")],
  ["a Secret of the agent's namespace", secretIn(OWN)],
  ["a Secret of the system's namespace", secretIn("kube-system")],
  ["the credentials of repositories", `lookup "v1" "Secret" "${OWN}" ""`],
  ["all Secrets of a's namespace", 'lookup "v1" "Secret" "team-a" ""'],
  ["all Secrets of the cluster", 'lookup "v1" "Secret" "" ""'],
  ["the namespace of its release", 'lookup "v1" "Secret" .Release.Namespace "theirs"'],
  ["a namespace put together", 'lookup "v1" "Secret" (printf "%s-%s" "team" "a") "theirs"'],
  ["a template in a value", `tpl "{{ lookup \\"v1\\" \\"Secret\\" \\"team-a\\" \\"theirs\\" | toJson }}" .`],
  ["a namespace that is a path", 'lookup "v1" "Secret" "team-b/../team-a" "theirs"'],
  ["a name that is a path", 'lookup "v1" "Secret" "team-b" "../../team-a/secrets/theirs"'],
  ["a name that is a question", 'lookup "v1" "Secret" "team-a" "theirs?x=y"'],
];

interface Way {
  name: string;
  files(cm: string, found: string): Record<string, string>;
  spec?: (repoURL: string) => object;
}
const WAYS: Way[] = [
  { name: "itself", files: chart },
  {
    name: "in a chart that it depends on",
    files: (cm, found) => ({
      "Chart.yaml": "apiVersion: v2\nname: top\nversion: 0.1.0\ndependencies: [{name: c, version: 0.1.0}]\n",
      "charts/c/Chart.yaml": "apiVersion: v2\nname: c\nversion: 0.1.0\n",
      "charts/c/templates/cm.yaml": body(cm, found),
    }),
  },
  {
    name: "in the second of two sources",
    files: (cm, found) => ({ "plain/a.yaml": configMap(`${cm}-plain`, {}), ...prefixed("chart/", chart(cm, found)) }),
    spec: (repoURL) => ({
      source: undefined,
      sources: ["plain", "chart"].map((path) => ({ repoURL, path, targetRevision: "main" })),
    }),
  },
  {
    name: "with a's namespace as the release's",
    files: chart,
    spec: (repoURL) => ({ source: { repoURL, path: ".", targetRevision: "main", helm: { namespace: "team-a" } } }),
  },
];
const prefixed = (prefix: string, files: Record<string, string>) =>
  Object.fromEntries(Object.entries(files).map(([path, text]) => [prefix + path, text]));

const policy = { automated: {}, retry: { limit: 0 } };
const at = { name: "in-cluster", namespace: "team-b" };
const judged = ({ status }: Application) =>
  /^(Failed|Error|Succeeded)$/.test(status?.operationState?.phase ?? "") ||
  (status?.conditions ?? []).some(({ type }) => /Error$/.test(type));
const betrays = (what: unknown) => {
  const text = JSON.stringify(what ?? "");
  const inner = [...text.matchAll(/[A-Za-z0-9+/]{16,}={0,2}/g)].map(([one]) =>
    Buffer.from(one, "base64").toString("utf8"),
  );
  return [text, ...inner].some((one) =>
    [CANARY, Buffer.from(CANARY).toString("base64")].some((canary) => one.includes(canary)),
  );
};

async function make(name: string, way: Way, found: string): Promise<void> {
  await w.git.createRepository(`b/${name}`, { files: way.files(name, found) });
  const more = way.spec?.(w.git.cloneUrl(`b/${name}`)) ?? {};
  const annotations = { [TENANT]: B, [LOOKUP]: "all" };
  await w.app(name, { repo: `b/${name}`, project: "b", destination: at, syncPolicy: policy, ...more }, { annotations });
}

test("b's chart looks up what is in its own namespace, and what is in none", async () => {
  const found =
    '(list (lookup "v1" "Secret" "team-b" "own").data.k (lookup "v1" "Namespace" "" "b-only").metadata.name)';
  await make("fine", WAYS[0]!, found);
  const app = await w.until("fine", judged, "judged");
  expect(app.status?.conditions ?? []).toEqual([]);
  const data = (await w.object(CONFIG_MAP, "team-b", "fine"))?.data?.found;
  expect(JSON.parse(Buffer.from(data ?? "", "base64").toString())).toEqual([
    Buffer.from("seen").toString("base64"),
    "b-only",
  ]);
}, 120_000);

test("b's chart looks up nothing outside of what its project deploys to, whatever its account may read", async () => {
  const made = WAYS.flatMap((way, i) => ASKED.map((asked, j) => ({ name: `look-${i}-${j}`, way, asked })));
  for (const { name, way, asked } of made) await make(name, way, asked[1]);
  const through: string[] = [];
  for (const { name, way, asked } of made) {
    const app = await w.until(name, judged, "judged");
    const cm = await w.object(CONFIG_MAP, "team-b", name);
    if (betrays(cm?.data) || betrays(app.status)) through.push(`${asked[0]}, ${way.name}`);
  }
  expect(through).toEqual([]);
}, 300_000);

test("nor does a chart of an application that b's set makes", async () => {
  await w.git.createRepository("b/of-set", { files: chart("of-set", secretIn(OWN)) });
  const template = {
    metadata: { name: "of-set", annotations: { [LOOKUP]: "{{ .account }}" } },
    spec: {
      project: "b",
      source: { repoURL: w.git.cloneUrl("b/of-set"), path: ".", targetRevision: "main" },
      destination: at,
      syncPolicy: policy,
    },
  };
  const metadata = { name: "looks-b0b0b0b0b0b0", namespace: OWN, annotations: { [TENANT]: B } };
  const elements = [{ account: "all" }];
  const spec = {
    goTemplate: true,
    generators: [{ list: { elements } }],
    template,
    syncPolicy: { preserveResourcesOnDeletion: true },
  };
  value(
    await w.client.create(APPLICATION_SET, {
      apiVersion: "argoproj.io/v1alpha1",
      kind: "ApplicationSet",
      metadata,
      spec,
    }),
  );
  const { home, repo, repositories } = w.controller.deps;
  const log = { warn: () => {}, error: () => {} };
  const sets = new SetController({ home, namespace: OWN, repo, access: (url) => repositories.find(url), log });
  await sets.start();
  try {
    await w.settled(
      async () => (await w.object(RESOURCES.application, OWN, "of-set-b0b0b0b0b0b0")) !== undefined,
      "made",
    );
    const app = await w.until("of-set-b0b0b0b0b0b0", judged, "judged");
    expect(JSON.stringify(app.status?.conditions)).toMatch(/the agent's own: charts of a tenant read nothing there/);
    expect(betrays((await w.object(CONFIG_MAP, "team-b", "of-set"))?.data)).toBe(false);
  } finally {
    await sets.stop();
  }
}, 120_000);

test("an application of the agent's own scope looks up what its account may read, as ever", async () => {
  await w.git.createRepository("top", { files: chart("top", `(${secretIn("team-a")}).data.k`) });
  await w.app("top", { repo: "top", destination: at, syncPolicy: policy }, { annotations: { [LOOKUP]: "all" } });
  await w.until("top", synced, "Synced");
  expect(betrays((await w.object(CONFIG_MAP, "team-b", "top"))?.data)).toBe(true);
}, 60_000);
