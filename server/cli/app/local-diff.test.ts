import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { person } from "../testing.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "outpost-local-diff-"));
  mkdirSync(join(dir, "deploy"));
});
afterEach(() => rmSync(dir, { recursive: true }));

const map = (data: object) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "a", namespace: "shop" },
  data,
});
const marks = { "argocd.argoproj.io/tracking-id": "shop-0123456789ab:/ConfigMap:shop/a" };
const live = (data: object) => ({ ...map(data), metadata: { ...map(data).metadata, annotations: marks } });
const write = (...objects: object[]) =>
  writeFileSync(join(dir, "deploy/all.yaml"), objects.map((one) => `---\n${JSON.stringify(one)}\n`).join(""));

/** The cluster and Git have one ConfigMap; `source` says where the application is. */
const service = (source: object = { path: "deploy", repository: "account.code" }) =>
  person(({ operation, url }) => {
    if (operation === "getRepository") return { body: { spec: { url: "https://git.example.com/shop.git" } } };
    if (operation === "getApplicationManifests")
      return { body: { revision: "c", manifests: [map({ k: "1", old: "x" })] } };
    if (operation === "getApplicationResource" && url.searchParams.get("name") === "a")
      return { body: { live: live({ k: "1", old: "x", by: "hand" }), actions: [] } };
    const resources = [
      { kind: "ConfigMap", namespace: "shop", name: "a", status: "Synced" },
      { kind: "Secret", namespace: "shop", name: "s", status: "Synced" },
    ];
    const spec = { agent: "prod", source, destination: { namespace: "shop" } };
    return { body: { id: "shop", org: "team", spec, status: { resources } } };
  });
const diff = (me: ReturnType<typeof service>, path = dir) => me.types("app", "diff", "shop", "--local", path);

test("what a folder has is compared with the cluster; what others set there stays", async () => {
  write(map({ k: "1", old: "x" }));
  const me = service();
  expect(await diff(me)).toMatchObject({ exit: 0, out: "" });
  const asked = me.requests.find(({ operation }) => operation === "getRepository")!;
  expect([asked.url.pathname, asked.url.search]).toEqual(["/v1/repositories/code", ""]);
});

test("a field that changes, one that goes, and an object that comes are differences, and exit 1", async () => {
  write(map({ k: "2" }), { ...map({ n: "1" }), metadata: { name: "b" } });
  const { exit, out } = await diff(service());
  expect(exit).toBe(1);
  for (const line of [
    "~ update ConfigMap shop/a",
    '-   k: "1"',
    '+   k: "2"',
    "-   old: x",
    "+ create ConfigMap shop/b",
  ])
    expect(out).toContain(line);
  expect(out).not.toContain("- by: hand");
});

test("an object that the folder has no more is deleted; Secrets are left out, and that is said", async () => {
  write({ apiVersion: "v1", kind: "Secret", metadata: { name: "t" }, stringData: { password: "hunter2" } });
  const { out, err } = await diff(service());
  expect(out).toContain("- delete ConfigMap shop/a");
  expect(out).not.toMatch(/Secret|hunter2/);
  expect(err).toContain("Secrets are left out");
});

test("the application's own folder is taken too", async () => {
  write(map({ k: "1", old: "x" }));
  expect((await diff(service(), join(dir, "deploy"))).exit).toBe(0);
});

test.each([
  ["is not there", () => diff(service(), join(dir, "none")), "takes a folder"],
  [
    "has not the application's folder",
    () => diff(service({ path: "other", repoUrl: "https://h/x" })),
    "no folder `other`",
  ],
  ["stands for a chart", () => diff(service({ chart: "c", repoUrl: "https://h/x" })), "one source from Git"],
  [
    "cannot be rendered",
    () => (
      writeFileSync(join(dir, "deploy/all.yaml"), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: ["),
      diff(service())
    ),
    "all.yaml",
  ],
  [
    "comes with --revision",
    () => service().types("app", "diff", "shop", "--local", dir, "--revision", "v1"),
    "only one of --revision, --history and --local",
  ],
])("a folder that %s is exit code 2, which is no difference", async (_, run, want) => {
  const { exit, err } = await run();
  expect([exit, err]).toEqual([2, expect.stringContaining(want)]);
});
