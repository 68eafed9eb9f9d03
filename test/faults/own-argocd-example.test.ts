import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { parse } from "yaml";
import { findHelm } from "../../modules/generate/helm.ts";
import { KubeClient } from "../../server/kube/client.ts";
import { parseKubeconfig } from "../../server/kube/config.ts";
import type { KubeObject } from "../../server/kube/object.ts";
import { RESOURCES, type Resource } from "../../server/kube/path.ts";
import { type ApiServer, startApiServer, toolPath } from "../cluster/apiserver.ts";
import { writeTerraformConfig } from "../cluster/terraform.ts";
import { type Daemon, daemon, freePort, until } from "../servers/run.ts";
import { kubeconfigOf, must, program, type Service, startService } from "./link-world.ts";

/**
 * The example as it stands, in the order of its README: real Terraform, Helm, command line, service, link, reader and API server. Of Argo CD there are
 * its definitions and its objects as it leaves them; nothing acts on them.
 */
const root = fileURLToPath(new URL("../..", import.meta.url));
const run = promisify(execFile);
const NAMESPACE = "argocd";
const resource = (group: string, version: string, kind: string, plural: string, namespaced = true): Resource => ({
  group,
  version,
  kind,
  plural,
  namespaced,
});
const CRD = resource("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", false);
const SET = resource("argoproj.io", "v1alpha1", "ApplicationSet", "applicationsets");
const DEPLOYMENT = resource("apps", "v1", "Deployment", "deployments");

let service: Service;
let cluster: ApiServer;
let kube: KubeClient;
let dir: string;
let folder: string;
let env: NodeJS.ProcessEnv;
let link: NodeJS.ProcessEnv;
let agent: Daemon | undefined;
let reader: Daemon | undefined;
let aggregator: Daemon | undefined;

beforeAll(async () => {
  [service, cluster] = await Promise.all([startService(), startApiServer()]);
  kube = new KubeClient(parseKubeconfig(readFileSync(cluster.kubeconfig, "utf8")));
  dir = mkdtempSync(join(tmpdir(), "outpost-own-argocd-"));
  folder = join(dir, "examples/05-own-argocd");
  cpSync(join(root, "examples/05-own-argocd"), folder, { recursive: true });
  cpSync(join(root, "modules/charts"), join(dir, "modules/charts"), { recursive: true });
  const mirror = join(root, "dist/mirror");
  env = {
    PATH: process.env.PATH,
    HOME: dir,
    KUBECONFIG: cluster.kubeconfig,
    ...(await writeTerraformConfig(join(dir, "terraform.rc"), { mirror, own: mirror })),
    OUTPOST_ENDPOINT: service.url,
    OUTPOST_API_KEY: service.apiKey,
    OUTPOST_CONFIG: "/nonexistent/config.json",
  };
  // It fills Kubernetes's own role `view`.
  aggregator = daemon(toolPath("kubernetes", "kube-controller-manager"), [
    `--kubeconfig=${cluster.kubeconfig}`,
    "--controllers=clusterrole-aggregation-controller",
    "--leader-elect=false",
    "--secure-port=0",
  ]);
  // Argo CD is installed.
  for (const file of readdirSync(join(root, "server/agent/crds")))
    must(await kube.create(CRD, parse(readFileSync(join(root, "server/agent/crds", file), "utf8"))));
  must(await kube.create(RESOURCES.namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name: NAMESPACE } }));
  await until("the kinds", async () => (await kube.list(SET, { namespace: NAMESPACE })).kind === "done", 20_000);
  const project = { sourceRepos: ["*"], destinations: [{ server: "*", namespace: "*" }] };
  const metadata = { name: "default", namespace: NAMESPACE };
  must(
    await kube.create(RESOURCES.appProject, {
      apiVersion: "argoproj.io/v1alpha1",
      kind: "AppProject",
      metadata,
      spec: project,
    }),
  );
}, 240_000);
afterAll(async () => {
  await agent?.stop();
  await reader?.stop();
  await aggregator?.stop("SIGKILL");
  await service?.stop();
  await kube?.close();
  await cluster?.stop();
  rmSync(dir, { recursive: true, force: true });
}, 60_000);

const terraform = (...args: string[]) =>
  run("terraform", [...args, "-no-color"], { cwd: folder, env, timeout: 120_000 });
const outpost = async (...args: string[]) =>
  (await run(process.execPath, [join(root, "dist/outpost.mjs"), ...args], { cwd: folder, env, timeout: 120_000 }))
    .stdout;
/** What the example's output says, with the real Helm; no Pod starts here. */
async function install(...flags: string[]): Promise<string> {
  const values = await outpost("agent", "values", "argo", ...flags);
  const file = join(dir, "values.yaml");
  writeFileSync(file, values, { mode: 0o600 });
  const chart = "../../modules/charts/outpost-agent";
  await run(findHelm(), ["upgrade", "--install", "outpost-agent", chart, "--namespace", NAMESPACE, "--values", file], {
    cwd: folder,
    env,
  });
  return values;
}
const deployments = async () =>
  must(await kube.list(DEPLOYMENT, { namespace: NAMESPACE }))
    .items.map(({ metadata }) => metadata.name)
    .sort();
const definitions = async () =>
  must(await kube.list(CRD)).items.map(({ metadata }) => `${metadata.uid} ${metadata.resourceVersion}`);
const set = async () => must(await kube.get(SET, NAMESPACE, "guestbook"));
const live = async (name: string) => must(await kube.get(RESOURCES.application, NAMESPACE, name));

/** Argo CD's set controller makes the applications, and its application controller has compared them. */
async function argoWorks(): Promise<void> {
  const owner = must(await kube.create(SET, parse(readFileSync(join(folder, "argocd/applicationset.yaml"), "utf8"))));
  for (const name of ["dev", "prod"]) {
    const text = JSON.stringify(owner.spec.template).replaceAll("{{ .env }}", name);
    const { metadata, spec } = JSON.parse(text) as KubeObject;
    const { uid } = owner.metadata;
    const reference = {
      apiVersion: "argoproj.io/v1alpha1",
      kind: "ApplicationSet",
      name: "guestbook",
      uid: uid!,
      controller: true,
    };
    const { source, destination } = spec;
    const row = {
      group: "apps",
      version: "v1",
      kind: "Deployment",
      namespace: `guestbook-${name}`,
      name: "guestbook-ui",
      status: "OutOfSync",
    };
    must(
      await kube.create(RESOURCES.application, {
        apiVersion: "argoproj.io/v1alpha1",
        kind: "Application",
        metadata: { ...metadata, namespace: NAMESPACE, ownerReferences: [reference] },
        spec,
        status: {
          sync: { status: "OutOfSync", revision: "53e28ff", comparedTo: { source, destination } },
          health: { status: "Missing" },
          resources: [row],
          history: [{ id: 0, revision: "53e28ff", source, deployedAt: "2026-01-01T00:00:00Z" }],
        },
      }),
    );
  }
}

test("the link is installed beside Argo CD and touches no definition", async () => {
  await terraform("init", "-input=false");
  await terraform("fmt", "-check");
  await terraform("apply", "-auto-approve", "-input=false");
  const before = await definitions();
  const values = parse(await install()) as { token: string };
  expect(await deployments()).toEqual(["outpost-agent", "outpost-agent-reader"]);
  expect(await definitions()).toEqual(before);
  // The Pods' two programs, each with its own account and the chart's roles.
  const world = { kube, cluster, namespace: NAMESPACE };
  const token = join(dir, "reads-token");
  writeFileSync(token, "shared-by-the-link-and-the-reader", { mode: 0o600 });
  const listen = `127.0.0.1:${await freePort()}`;
  const common = { POD_NAMESPACE: NAMESPACE, OUTPOST_ENGINE: "none", OUTPOST_READS_TOKEN_FILE: token };
  reader = program(["reader"], {
    ...common,
    KUBECONFIG: await kubeconfigOf(world, dir, "outpost-agent-reader"),
    OUTPOST_READS_LISTEN: listen,
  });
  link = {
    ...common,
    KUBECONFIG: await kubeconfigOf(world, dir, "outpost-agent"),
    OUTPOST_CONTROLLER_URL: `http://${listen}`,
    OUTPOST_ENDPOINT: service.url,
    OUTPOST_TOKEN: values.token,
  };
  agent = program(["agent"], link);
  const connected = async () =>
    (JSON.parse(await outpost("agent", "get", "argo", "-o", "json")) as { status: { connected: boolean } }).status
      .connected;
  await until("the agent to connect", connected, 60_000).catch((error) => {
    throw new Error(`${error.message}; it said:\n${agent!.said()}`);
  });
}, 180_000);

test("everything of Argo CD is seen, and a sync goes to Argo CD", async () => {
  await argoWorks();
  type Shown = { id: string; origin: string; status: object };
  const list = async () => (JSON.parse(await outpost("app", "list", "-o", "json")) as { items: Shown[] }).items;
  const apps = await until(
    "both applications",
    async () => {
      const found = await list();
      return found.length === 2 && found;
    },
    60_000,
  ).catch((error) => {
    throw new Error(`${error.message}; the agent said:\n${agent!.said()}`);
  });
  expect(apps.map(({ id, origin }) => [id, origin]).sort()).toEqual([
    ["guestbook-dev", "generated"],
    ["guestbook-prod", "generated"],
  ]);
  expect(apps[0]!.status).toMatchObject({ sync: { status: "OutOfSync" }, health: { status: "Missing" } });
  expect(await outpost("appset", "list")).toContain("discovered");
  expect(await outpost("app", "tree", "guestbook-dev")).toContain("guestbook-ui");
  expect(await outpost("app", "history", "guestbook-dev")).toContain("53e28ff");
  expect(
    JSON.parse(await outpost("app", "diff", "guestbook-dev", "-o", "json").catch(({ stdout }) => stdout)).items,
  ).toMatchObject([{ kind: "Deployment", name: "guestbook-ui", change: "create" }]);
  await expect(outpost("app", "manifests", "guestbook-dev")).rejects.toMatchObject({
    stderr: expect.stringContaining("argocd app manifests"),
  });
  const before = await live("guestbook-dev");
  const { response } = await service.api.POST("/v1/applications/{id}/sync", {
    params: { path: { id: "guestbook-dev" } },
    body: {},
  });
  expect(response.status).toBe(202);
  const after = await live("guestbook-dev");
  expect(after.operation).toMatchObject({ sync: { syncOptions: ["CreateNamespace=true"] } });
  expect([after.spec, after.metadata.labels]).toEqual([before.spec, before.metadata.labels]);
}, 180_000);

test("one application set moves over and back; its applications stay as they are", async () => {
  const before = await set();
  const apps = async () =>
    must(await kube.list(RESOURCES.application, { namespace: NAMESPACE })).items.map(({ metadata }) => metadata.uid);
  const children = await apps();
  await outpost("appset", "adopt", "guestbook");
  const taken = await until(
    "the mark",
    async () => {
      const now = await set();
      return now.metadata.labels?.["outpost.dev/managed"] === "true" && now;
    },
    60_000,
  );
  expect([taken.metadata.uid, taken.spec]).toEqual([before.metadata.uid, { ...before.spec, goTemplate: true }]);
  await outpost("appset", "delete", "guestbook", "--force");
  expect((await set()).metadata.uid).toBe(before.metadata.uid);
  expect(await apps()).toEqual(children);
  // The agent is asked to tell of everything once more.
  const origin = async () => (await outpost("appset", "get", "guestbook", "-o", "json").catch(() => "{}")) as string;
  await until(
    "the set to be shown as discovered",
    async () => JSON.parse(await origin()).origin === "discovered",
    90_000,
  );
}, 240_000);

test("one upgrade gives the work to Outpost's engine and one gives it back; nothing of Argo CD's changes", async () => {
  const before = await definitions();
  await terraform("apply", "-auto-approve", "-input=false", "-var", "engine=outpost");
  await install("--without-token");
  expect(await deployments()).toEqual([
    "outpost-agent",
    "outpost-agent-controller",
    "outpost-agent-redis",
    "outpost-agent-repo-server",
  ]);
  await terraform("apply", "-auto-approve", "-input=false");
  await install("--without-token");
  expect(await deployments()).toEqual(["outpost-agent", "outpost-agent-reader"]);
  expect(await definitions()).toEqual(before);
}, 180_000);
