import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { parseAllDocuments } from "yaml";
import { person } from "../testing.ts";

const URL = "https://git.example.com/team/shop.git";
let dir: string;
let checkout: string;
const nobody = () => ({ status: 500 });
const git = (...args: string[]) =>
  execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@example.com", ...args], {
    cwd: checkout,
    encoding: "utf8",
  }).trim();
const put = (path: string, text: string) => {
  mkdirSync(dirname(join(dir, path)), { recursive: true });
  writeFileSync(join(dir, path), text);
  return join(dir, path);
};
const map = (name: string, value: string) =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\ndata: {k: ${value}}\n`;
const app = (spec: object = {}) =>
  JSON.stringify({
    apiVersion: "argoproj.io/v1alpha1",
    kind: "Application",
    metadata: { name: "shop", namespace: "argocd" },
    spec: {
      source: { repoURL: URL, path: "deploy", targetRevision: "main" },
      destination: { server: "https://kubernetes.default.svc", namespace: "shop" },
      ...spec,
    },
  });
const types = (...argv: string[]) => person(nobody).types("admin", ...argv);
const objects = (text: string) => parseAllDocuments(text).map((document) => document.toJS());

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "outpost-render-verb-"));
  checkout = join(dir, "shop");
  put("shop/deploy/a.yaml", map("a", "one"));
  put(
    "shop/deploy/secret.yaml",
    "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {password: hunter2}\n",
  );
  put(
    "shop/deploy/role.yaml",
    "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: r, namespace: wrong}\n",
  );
  git("init", "-q", "-b", "main");
  git("add", "-A");
  git("commit", "-qm", "first");
  put("app.json", app());
});
afterEach(() => rmSync(dir, { recursive: true }));

test("admin render prints the objects as the controller would apply them, from the files as they are", async () => {
  put("shop/deploy/a.yaml", map("a", "two"));
  put("shop/deploy/new.yaml", map("new", "x"));
  const { exit, out, err } = await types("render", join(dir, "app.json"), "--path", checkout);
  expect([exit, err]).toEqual([0, ""]);
  expect(objects(out)).toEqual([
    { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", namespace: "shop" }, data: { k: "two" } },
    { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "new", namespace: "shop" }, data: { k: "x" } },
    { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", metadata: { name: "r" } },
    {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "s", namespace: "shop" },
      data: { password: "aHVudGVyMg==" },
    },
  ]);
  expect(git("status", "--short").split("\n")).toEqual(["M deploy/a.yaml", "?? deploy/new.yaml"]);
});

test("admin render shows a revision of the checkout, and the marks when they are asked for", async () => {
  const first = git("rev-parse", "HEAD");
  put("shop/deploy/a.yaml", map("a", "two"));
  git("commit", "-qam", "second");
  put("shop/deploy/a.yaml", map("a", "three"));
  for (const [revision, want] of [
    ["main", "two"],
    ["HEAD~1", "one"],
    [first.slice(0, 8), "one"],
  ] as const) {
    const { out } = await types(
      "render",
      join(dir, "app.json"),
      "--repo",
      `${URL}=${checkout}`,
      "--revision",
      revision,
      "-o",
      "json",
    );
    expect(JSON.parse(out).items[0].data).toEqual({ k: want });
  }
  const { out } = await types("render", join(dir, "app.json"), "--path", checkout, "--tracking");
  expect(objects(out)[0].metadata).toMatchObject({
    annotations: { "argocd.argoproj.io/tracking-id": "shop:/ConfigMap:shop/a" },
    labels: { "outpost.dev/app": "shop" },
  });
});

test("admin render and diff know an application's objects as argocd-cm says", async () => {
  const data = { "application.resourceTrackingMethod": "label", "application.instanceLabelKey": "team/app" };
  put("cm.json", JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "argocd-cm" }, data }));
  const files = [join(dir, "app.json"), join(dir, "cm.json"), "--path", checkout];
  const marked = objects((await types("render", ...files, "--tracking")).out)[0].metadata;
  expect(marked).toMatchObject({ labels: { "team/app": "shop" } });
  expect(marked.annotations).toBeUndefined();
  expect(objects((await types("render", ...files)).out)[0].metadata.labels).toBeUndefined();
});

test("admin render makes the applications of a set first, each with its own files", async () => {
  put("shop/envs/dev/a.yaml", map("a", "dev"));
  put("shop/envs/prod/a.yaml", map("a", "prod"));
  const set = {
    apiVersion: "argoproj.io/v1alpha1",
    kind: "ApplicationSet",
    metadata: { name: "envs" },
    spec: {
      goTemplate: true,
      generators: [{ git: { repoURL: URL, revision: "main", directories: [{ path: "envs/*" }] } }],
      template: {
        metadata: { name: "shop-{{ .path.basename }}" },
        spec: {
          project: "default",
          source: { repoURL: URL, path: "{{ .path.path }}", targetRevision: "main" },
          destination: { name: "in-cluster", namespace: "{{ .path.basename }}" },
        },
      },
    },
  };
  const { exit, out } = await types("render", put("set.json", JSON.stringify(set)), "--path", checkout);
  expect(exit).toBe(0);
  expect(objects(out).map(({ metadata, data }) => [metadata.namespace, data.k])).toEqual([
    ["dev", "dev"],
    ["prod", "prod"],
  ]);
});

test("admin diff tells what a change would do: against the last commit, with values of Secrets as digests", async () => {
  const same = await types("diff", join(dir, "app.json"), "--path", checkout);
  expect([same.exit, same.out]).toEqual([0, ""]);
  put("shop/deploy/a.yaml", map("a", "two"));
  put(
    "shop/deploy/secret.yaml",
    "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {password: hunter3}\n",
  );
  rmSync(join(checkout, "deploy/role.yaml"));
  const { exit, out, err } = await types("diff", join(dir, "app.json"), "--path", checkout);
  expect(exit).toBe(1);
  expect(err).toContain("3 objects differ");
  expect(out).toContain("~ update ConfigMap shop/a");
  expect(out).toMatch(/- {3}k: one\n.*\+ {3}k: two/);
  expect(out).toContain("- delete rbac.authorization.k8s.io/ClusterRole r");
  expect(out).toMatch(/- {3}password: sha256:[0-9a-f]{16}\n.*\+ {3}password: sha256:[0-9a-f]{16}/);
  expect(out).not.toMatch(/hunter|aHVudGVy/);
  const coloured = await person(nobody, { env: { FORCE_COLOR: "1" } }).types(
    "admin",
    "diff",
    join(dir, "app.json"),
    "--path",
    checkout,
  );
  expect(coloured.out).toContain("[32m");
});

test("admin diff compares with live objects in files: defaults differ in nothing, what was applied before and is gone does", async () => {
  const managed = {
    manager: "outpost-controller",
    operation: "Apply",
    apiVersion: "v1",
    fieldsV1: {
      "f:data": { "f:k": {}, "f:gone": {} },
      "f:metadata": { "f:annotations": { "f:argocd.argoproj.io/tracking-id": {} } },
    },
  };
  const live = (name: string, data: object, more: object = {}) => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: {
      name,
      namespace: "shop",
      uid: "1",
      resourceVersion: "7",
      annotations: { "argocd.argoproj.io/tracking-id": `shop:/ConfigMap:shop/${name}` },
      ...more,
    },
    data,
  });
  const items = [
    live("a", { k: "one", by: "somebody", gone: "x" }, { managedFields: [managed] }),
    live("extra", { k: "v" }),
    { ...live("other", { k: "v" }), metadata: { name: "other", namespace: "shop" } },
    { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", metadata: { name: "r" }, rules: null },
    {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "s", namespace: "shop" },
      type: "Opaque",
      data: { password: "aHVudGVyMg==" },
    },
  ];
  put("live/list.json", JSON.stringify({ apiVersion: "v1", kind: "List", items }));
  const { exit, out } = await types(
    "diff",
    join(dir, "app.json"),
    "--path",
    checkout,
    "--live",
    join(dir, "live"),
    "-o",
    "json",
  );
  expect(exit).toBe(1);
  const [a, extra, ...more] = JSON.parse(out).items;
  expect([
    a.name,
    a.change,
    a.live.includes("gone"),
    a.desired.includes("gone"),
    a.desired.includes("by: somebody"),
  ]).toEqual(["a", "update", true, false, true]);
  expect([extra.name, extra.change, more]).toEqual(["extra", "delete", []]);
});

test("what the application ignores differs in nothing", async () => {
  put("shop/deploy/a.yaml", map("a", "two"));
  const rules = { ignoreDifferences: [{ kind: "ConfigMap", jsonPointers: ["/data/k"] }] };
  const { exit } = await types("diff", put("app.json", app(rules)), "--path", checkout);
  expect(exit).toBe(0);
});

const wrong: [string, () => string[], RegExp, number][] = [
  [
    "a file without an application",
    () => ["render", put("x.yaml", map("a", "b"))],
    /ConfigMap a is neither an Application/,
    1,
  ],
  ["no folder", () => ["render", join(dir, "app.json"), "--path", join(dir, "none")], /no such file/i, 2],
  ["a mapping that is none", () => ["render", join(dir, "app.json"), "--repo", "x"], /--repo takes URL=FOLDER/, 2],
  [
    "a revision that is not there",
    () => ["render", join(dir, "app.json"), "--path", checkout, "--revision", "v9"],
    /revision v9/,
    1,
  ],
  [
    "a revision that is an option",
    () => ["render", join(dir, "app.json"), "--path", checkout, "--revision=--all"],
    /revision --all/,
    1,
  ],
  [
    "two things to compare with",
    () => ["diff", join(dir, "app.json"), "--live", dir, "--kubeconfig", "k"],
    /only one of/,
    2,
  ],
];
test.each(wrong)("admin render and diff say what is wrong: %s", async (_, argv, want, code) => {
  const { exit, err } = await types(...argv());
  expect(err).toMatch(want);
  expect(exit).toBe(code);
});

test("a link out of the checkout is refused, as it is in a repository", async () => {
  put("outside.yaml", map("outside", "x"));
  symlinkSync("../../outside.yaml", join(checkout, "deploy/link.yaml"));
  const { exit, err } = await types("render", join(dir, "app.json"), "--path", checkout);
  expect([exit, err]).toEqual([1, expect.stringMatching(/PathEscapesRepository/)]);
});
