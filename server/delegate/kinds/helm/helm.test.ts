import { readFileSync } from "node:fs";
import { dirname } from "node:path";
import { jest } from "@jest/globals";
import type { Schemas } from "../../../../openapi/client.ts";
import { toolPath } from "../../../../test/cluster/apiserver.ts";
import { type HttpStore, startHttpStore } from "../../../../test/servers/http-store.ts";
import { type Registry, startRegistry } from "../../../../test/servers/registry.ts";
import { RESOURCES } from "../../../kube/path.ts";
import { startCluster, type TestCluster } from "../../testing/cluster.ts";
import type { KindRun } from "../../testing/kind.ts";
import { temporaryFolder } from "../../testing/temporary.ts";
import { helmPackage } from "./helm-package.ts";
import { helmPush } from "./helm-push.ts";
import { helmUninstall } from "./helm-uninstall.ts";
import { helmUpgrade } from "./helm-upgrade.ts";

/** The real Helm, against a real API server, a real registry and a store that speaks as HTTP repositories do. */
const dir = temporaryFolder();
jest.setTimeout(60_000);
const PASSWORD = "pass-word-of-a-robot";
let c: TestCluster;
let registry: Registry;
let store: HttpStore;
let path: string;

beforeAll(async () => {
  const users = { robot: PASSWORD };
  [c, registry, store] = await Promise.all([startCluster(dir), startRegistry({ users }), startHttpStore({ users })]);
  path = `${dirname(toolPath("helm"))}:${process.env.PATH}`;
}, 120_000);
afterAll(async () => {
  await Promise.all([c?.stop(), registry?.stop(), store?.stop()]);
});

const chart = (version = "0.1.0", more: Record<string, string> = {}) => ({
  "demo/Chart.yaml": `apiVersion: v2\nname: demo\nversion: ${version}\nappVersion: "7.1"\n`,
  "demo/values.yaml": "greeting: hello\nlist: []\n",
  "demo/templates/config.yaml":
    'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: "{{ .Release.Name }}-config" }\ndata: { greeting: {{ .Values.greeting | quote }}, list: {{ .Values.list | toJson | quote }} }\n',
  "extra.yaml": "greeting: from a file\n",
  ...more,
});
type Upgrade = Schemas["TaskParamsHelmUpgrade"];
const run = <P>(kind: Parameters<TestCluster["bench"]["run"]>[0], params: P, timeoutSeconds = 180) =>
  c.bench.run(kind, params, { env: { PATH: path }, timeoutSeconds });
const upgrade = (release: string, params: Partial<Upgrade> = {}, seconds?: number) => {
  const source = { source: { files: chart() }, path: "demo" };
  return run(helmUpgrade, { release, namespace: "default", chart: source, cluster: c.access, ...params }, seconds);
};
const uninstall = (release: string, more = {}) =>
  run(helmUninstall, { release, namespace: "default", cluster: c.access, ...more });
const greeting = async (release: string) => (await c.get(RESOURCES.configMap, `${release}-config`))?.data.greeting;
const end = ({ outcome, reason, message }: KindRun) => [outcome, reason, message];

test("a release is installed and upgraded, by values, files and single values, of which the last one named wins", async () => {
  const first = await upgrade("first");
  expect([end(first), first.outputs]).toEqual([
    ["succeeded", undefined, undefined],
    { revision: 1, status: "deployed", chart: "demo-0.1.0", appVersion: "7.1" },
  ]);
  const texts = await Promise.all([greeting("first")]);
  await upgrade("first", { valueFiles: ["extra.yaml"] });
  texts.push(await greeting("first"));
  await upgrade("first", { valueFiles: ["extra.yaml"], values: "greeting: inline\n" });
  texts.push(await greeting("first"));
  const last = await upgrade("first", {
    values: "greeting: inline\n",
    set: { greeting: 'a,b="c" {d}', "list[0].name": "x" },
  });
  texts.push(await greeting("first"));
  expect([texts, last.outputs?.revision]).toEqual([["hello", "from a file", "inline", 'a,b="c" {d}'], 4]);
  await upgrade("first", { resetValues: false });
  expect(await greeting("first")).toBe('a,b="c" {d}');
});

test("a dry run changes nothing", async () => {
  expect((await upgrade("dry", { dryRun: true })).outcome).toBe("succeeded");
  expect(await greeting("dry")).toBeUndefined();
});

test("no secret stands in a command line, and nothing of the delegate's own Helm is used", async () => {
  const ran = await upgrade("quiet", { set: { greeting: "sentinel-of-a-value" } });
  expect(ran.outcome).toBe("succeeded");
  expect(readFileSync(`${ran.dir}/set-0`, "utf8")).toBe("sentinel-of-a-value");
  expect(ran.log.join("\n")).not.toContain("sentinel-of-a-value");
});

const failures: [string, { given: Partial<Upgrade>; reason: string; says: RegExp }][] = [
  [
    "a template that is wrong, by its file and line",
    {
      given: {
        chart: {
          source: { files: chart("0.1.0", { "demo/templates/bad.yaml": "a: 1\nb: {{ .Values.no.such.thing }}\n" }) },
          path: "demo",
          plainHttp: false,
          dependencyUpdate: false,
        },
      },
      reason: "ChartInvalid",
      says: /bad\.yaml:2:\d+/,
    },
  ],
  [
    "a folder without a chart",
    {
      given: { chart: { source: { files: chart() }, plainHttp: false, dependencyUpdate: false } },
      reason: "ChartNotFound",
      says: /no Chart\.yaml in "\."; say in which folder/,
    },
  ],
  ["values that are no YAML", { given: { values: "a: [" }, reason: "ValuesInvalid", says: /values/ }],
  [
    "a right that is missing",
    {
      given: { cluster: undefined },
      reason: "Forbidden",
      says: /cannot list resource "secrets".*; give the delegate's service account/s,
    },
  ],
  [
    "a chart by two ways",
    {
      given: {
        chart: { oci: "oci://x.example/y", repository: "https://x.example", plainHttp: false, dependencyUpdate: false },
      },
      reason: "ParamsInvalid",
      says: /one of `source`, `oci` and `repository`/,
    },
  ],
  [
    "a release that is not there and may not be installed",
    { given: { install: false }, reason: "NoDeployedRelease", says: /has no deployed releases; .*install/ },
  ],
];
test.each(failures)("refuses %s", async (_name, { given, reason, says }) => {
  const params = "cluster" in given ? { ...given, cluster: c.limited } : given;
  const ran = await upgrade("refused", params);
  expect(end(ran)).toEqual(["failed", reason, expect.stringMatching(says)]);
  expect(ran.message).not.toContain(dir);
});

test("an object of somebody else is not taken over", async () => {
  await c.client.create(RESOURCES.configMap, {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "owned-config", namespace: "default" },
  });
  expect(end(await upgrade("owned"))).toEqual([
    "failed",
    "OwnedByOther",
    expect.stringMatching(/owned-config.*is there already/s),
  ]);
});

test("a release that another run has left in the middle is explained, with the way out", async () => {
  await upgrade("stuck");
  const listed = await c.client.list(RESOURCES.secret, {
    namespace: "default",
    labelSelector: "owner=helm,name=stuck",
  });
  const [secret] = listed.kind === "done" ? listed.value.items : [];
  // As Helm writes it before it begins: in its labels, and in the release itself.
  const { gunzipSync, gzipSync } = await import("node:zlib");
  const release = JSON.parse(
    gunzipSync(Buffer.from(Buffer.from(secret!.data.release, "base64").toString(), "base64")).toString(),
  );
  release.info.status = "pending-upgrade";
  const packed = Buffer.from(gzipSync(JSON.stringify(release)).toString("base64")).toString("base64");
  await c.client.mergePatch(RESOURCES.secret, "default", secret!.metadata.name, {
    metadata: { labels: { status: "pending-upgrade" } },
    data: { release: packed },
  });
  expect(end(await upgrade("stuck"))).toEqual([
    "failed",
    "OperationInProgress",
    expect.stringMatching(
      /revision 1 of the release stuck is pending-upgrade since .*uninstall it \(helm\.uninstall\), then install again$/,
    ),
  ]);
  expect((await uninstall("stuck")).outputs).toEqual({ status: "uninstalled" });
});

test("what does not become ready fails with what the cluster says of it, and atomic takes it back", async () => {
  const deployment =
    "apiVersion: apps/v1\nkind: Deployment\nmetadata: { name: never }\nspec: { selector: { matchLabels: { app: never } }, template: { metadata: { labels: { app: never } }, spec: { containers: [{ name: c, image: x }] } } }\n";
  const broken = {
    source: { files: chart("0.2.0", { "demo/templates/deployment.yaml": deployment }) },
    path: "demo",
    plainHttp: false,
    dependencyUpdate: false,
  };
  const ran = await upgrade("late", { chart: broken }, 20);
  expect(end(ran)).toEqual([
    "failed",
    "NotReady",
    expect.stringMatching(/not everything became ready in time.*Deployment never: .*it has no Pods yet/s),
  ]);
  expect(ran.outputs).toMatchObject({ revision: 1, status: "failed" });
  expect(ran.log).toContainEqual(expect.stringMatching(/^waiting for Deployment never: /));
  await uninstall("late");
  const atomic = await upgrade("atomic", { chart: broken, atomic: true }, 20);
  expect(end(atomic)).toEqual(["failed", "NotReady", expect.stringMatching(/\(it was rolled back\)/)]);
  expect(await greeting("atomic")).toBeUndefined();
});

test("uninstall says what was there, and with a kept history what is left", async () => {
  await upgrade("gone");
  expect((await uninstall("gone", { keepHistory: true })).outputs).toEqual({ status: "uninstalled" });
  expect((await uninstall("gone", { keepHistory: true })).outputs).toEqual({ status: "uninstalled" });
  expect((await uninstall("never-there")).outputs).toEqual({ status: "absent" });
  expect(end(await uninstall("never-there", { ignoreNotFound: false }))).toEqual([
    "failed",
    "ReleaseNotFound",
    expect.stringMatching(/no release never-there/),
  ]);
});

describe("packages", () => {
  const id = "t-aaaaaaaaaaaaaaaaaaaa";
  const artifact = { task: id, name: "demo-1.2.3+build.tgz" };
  const push = (to: string, more = {}) =>
    run(helmPush, { artifact, to, username: "robot", password: PASSWORD, ...more });
  beforeAll(async () => {
    const params = {
      source: { files: chart() },
      path: "demo",
      version: "1.2.3+build",
      appVersion: "9",
      dependencyUpdate: false,
    };
    const ran = await c.bench.run(helmPackage, params, { env: { PATH: path }, id });
    expect(ran.outputs).toEqual({
      name: "demo",
      version: "1.2.3+build",
      artifact: artifact.name,
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });

  test("a package is a chart by itself", async () => {
    const ran = await upgrade("packed", { chart: { source: { artifact }, plainHttp: false, dependencyUpdate: false } });
    expect([end(ran), ran.outputs?.chart]).toEqual([["succeeded", undefined, undefined], "demo-1.2.3+build"]);
  });

  test("is pushed to an OCI registry and installed from there", async () => {
    const to = `oci://${registry.host}/charts`;
    const ran = await push(to, { plainHttp: true });
    expect([end(ran), ran.outputs]).toEqual([
      ["succeeded", undefined, undefined],
      {
        url: `oci://${registry.host}/charts/demo:1.2.3_build`,
        digest: (await registry.manifest("charts/demo", "1.2.3_build"))!.digest,
      },
    ]);
    expect(end(await push(to, { plainHttp: true, password: "wrong-password" }))).toEqual([
      "failed",
      "LoginRefused",
      expect.stringMatching(/rejects the login/),
    ]);
    const login = { username: "robot", password: PASSWORD, plainHttp: true, dependencyUpdate: false };
    const used = await upgrade("from-oci", { chart: { oci: `${to}/demo`, version: "1.2.3+build", ...login } });
    expect([end(used), used.outputs?.chart]).toEqual([["succeeded", undefined, undefined], "demo-1.2.3+build"]);
    expect(used.log.join("\n")).not.toContain(PASSWORD);
    const missing = await upgrade("from-oci", { chart: { oci: `${to}/demo`, version: "9.9.9", ...login } });
    expect(end(missing)).toEqual(["failed", "ChartUnavailable", expect.stringMatching(/9\.9\.9/)]);
  });

  test("is put below the address of a repository, as Nexus takes it", async () => {
    const ran = await push(`${store.url}/repository/helm/`);
    const at = "/repository/helm/demo-1.2.3+build.tgz";
    expect([end(ran), ran.outputs]).toEqual([
      ["succeeded", undefined, undefined],
      { url: `${store.url}${at}`, digest: expect.stringMatching(/^sha256:/) },
    ]);
    expect(store.files.has(at)).toBe(true);
    expect(end(await push(`${store.url}/repository/helm`, { password: "wrong-password" }))[1]).toBe("LoginRefused");
  });

  test("is posted to ChartMuseum's API, once, and installed from its index", async () => {
    expect((await push(store.url, { method: "chartmuseum" })).outcome).toBe("succeeded");
    expect(end(await push(store.url, { method: "chartmuseum" }))).toEqual([
      "failed",
      "UploadRefused",
      expect.stringMatching(/there already/),
    ]);
    const login = { username: "robot", password: PASSWORD, plainHttp: false, dependencyUpdate: false };
    const ran = await upgrade("from-http", { chart: { repository: store.url, name: "demo", ...login } });
    expect([end(ran), ran.outputs?.chart]).toEqual([["succeeded", undefined, undefined], "demo-1.2.3+build"]);
    const wrong = await upgrade("from-http", {
      chart: { repository: store.url, name: "demo", ...login, password: "wrong-password" },
    });
    expect(end(wrong)).toEqual(["failed", "LoginRefused", expect.stringMatching(/cannot be read: .*401/)]);
    const missing = await upgrade("from-http", { chart: { repository: store.url, name: "nothing", ...login } });
    expect(end(missing)).toEqual(["failed", "ChartUnavailable", expect.stringMatching(/nothing/)]);
  });
});

test("what is missing is said with the way to get it", async () => {
  expect(await helmUpgrade.lacks({ PATH: "/nonexistent" })).toMatch(
    /^helm is not installed: install Helm 3\.16 or newer/,
  );
  expect(await helmUpgrade.lacks({ PATH: path })).toBeUndefined();
});
