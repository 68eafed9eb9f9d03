import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Schemas } from "../../openapi/client.ts";
import { buildOnBase } from "../cluster/image.ts";
import { terraformMirror } from "../cluster/terraform.ts";
import { buildTools } from "../cluster/tools.ts";
import { run, until } from "../servers/run.ts";
import { type World, world } from "../world.ts";

/** A delegate in a Pod deploys: by manifests, by Helm and by Terraform, with the rights of its own service account. */
const NAMESPACE = "deploys";
const MINUTE = 60_000;
type Task = Schemas["Task"];
let w: World;
let dir: string;
let helm: (...args: string[]) => Promise<string>;

beforeAll(async () => {
  w = await world();
  dir = mkdtempSync(join(tmpdir(), "outpost-deploy-"));
  const programs = await buildTools(() => {}, [
    "helm",
    "kustomize",
    "jsonnet",
    "terraform-provider-kubernetes",
    "terraform-provider-helm",
  ]);
  const mirror = await terraformMirror(programs);
  const rc = join(dir, "terraform.rc");
  writeFileSync(
    rc,
    'disable_checkpoint = true\nprovider_installation {\n  filesystem_mirror { path = "/opt/terraform/mirror" }\n}\n',
  );
  const inMirror = "registry.terraform.io/hashicorp/kubernetes";
  const image = await buildOnBase(
    "outpost.local/deployer:1",
    {
      app: join(w.root, "dist"),
      [`opt/terraform/mirror/${inMirror}`]: join(mirror, inMirror),
      "opt/terraform/config.rc": rc,
    },
    {
      Entrypoint: ["node", "/app/outpost.mjs"],
      Env: ["PATH=/usr/local/bin:/usr/bin:/bin", "NODE_ENV=production", "HOME=/tmp"],
      User: "1000:1000",
      WorkingDir: "/app",
    },
    programs,
    () => {},
  );
  await w.cluster.importImage(image);
  helm = async (...args) => {
    const env = { PATH: process.env.PATH, HOME: dir };
    return (
      await run(programs.helm!, [...args, "--kubeconfig", w.cluster.kubeconfig, "-n", NAMESPACE], {
        env,
        deadlineMs: 5 * MINUTE,
      })
    ).stdout;
  };
  const params = { path: { id: "deployer" } };
  await w.api.PUT("/v1/delegates/{id}", { params, body: { spec: { tags: ["deployer"] } } });
  const { data } = await w.api.POST("/v1/delegates/{id}/tokens", { params, body: {} });
  const values = {
    delegate: { name: "deployer" },
    endpoint: w.address,
    token: data!.token,
    image: { reference: image.reference },
    permissions: { level: "namespace-admin" },
    extraEnv: [
      { name: "TF_CLI_CONFIG_FILE", value: "/opt/terraform/config.rc" },
      { name: "OUTPOST_TASK_ENV", value: "TF_CLI_CONFIG_FILE" },
    ],
  };
  const file = join(dir, "values.json");
  writeFileSync(file, JSON.stringify(values), { mode: 0o600 });
  await helm(
    "install",
    "deployer",
    join(w.root, "modules/charts/outpost-delegate"),
    "--create-namespace",
    "--wait",
    "--timeout",
    "240s",
    "--values",
    file,
  );
}, 6 * MINUTE);
afterAll(async () => {
  await helm?.("uninstall", "deployer", "--wait").catch(() => "");
  await w?.cluster.kubectl("delete", "namespace", NAMESPACE, "--ignore-not-found", "--timeout=240s").catch(() => "");
  await w?.api.DELETE("/v1/delegates/{id}", { params: { path: { id: "deployer" } } });
  if (dir) rmSync(dir, { recursive: true, force: true });
}, 4 * MINUTE);

const log = async (task: string): Promise<string[]> => {
  const { data } = await w.api.GET("/v1/tasks/{task}/logs", { params: { path: { task } } });
  return (data?.items ?? []).map(({ text }) => text);
};
async function task(
  kind: Task["kind"],
  params: Record<string, unknown>,
  timeoutSeconds = 120,
  selectors = ["deployer"],
): Promise<Task> {
  const body = { kind, params, timeoutSeconds, selectors, maxAttempts: 1, idempotent: false } as Schemas["TaskRequest"];
  const made = await w.api.POST("/v1/tasks", { params: {}, body });
  if (!made.data) throw new Error(JSON.stringify(made.error));
  const path = { task: made.data.id };
  return until(
    `the end of ${kind}`,
    async () => {
      const { data } = await w.api.GET("/v1/tasks/{task}", { params: { path } });
      return data && !["Queued", "Running"].includes(data.state) && data;
    },
    (timeoutSeconds + 30) * 1_000,
  );
}
async function good(kind: Task["kind"], params: Record<string, unknown>, timeoutSeconds?: number): Promise<Task> {
  const ended = await task(kind, params, timeoutSeconds);
  if (ended.state !== "Succeeded")
    throw new Error(`${kind}: ${ended.reason}: ${ended.message}\n${(await log(ended.id)).join("\n")}`);
  return ended;
}
const end = ({ state, reason, message }: Task) => [state, reason, message];

const deployment = (name: string, image = "outpost.local/guestbook:1", more = "") => `apiVersion: apps/v1
kind: Deployment
metadata: { name: ${name} }
spec:
  replicas: 1
  selector: { matchLabels: { app: ${name} } }
  template:
    metadata: { labels: { app: ${name} } }
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{ name: page, image: "${image}", imagePullPolicy: IfNotPresent${more} }]
---
`;
const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: settings }\ndata: { a: '1' }\n---\n";

test(
  "manifests are applied and waited for, restarted, and taken back",
  async () => {
    const applied = await good("kubernetes.apply", { manifests: configMap + deployment("page") });
    expect(applied.outputs).toEqual({
      objects: [
        { apiVersion: "v1", kind: "ConfigMap", namespace: NAMESPACE, name: "settings", result: "created" },
        { apiVersion: "apps/v1", kind: "Deployment", namespace: NAMESPACE, name: "page", result: "created" },
      ],
    });
    const rollout = (action: string) => good("kubernetes.rollout", { kind: "Deployment", name: "page", action });
    expect((await rollout("status")).outputs).toEqual({ revision: 1, ready: 1, wanted: 1 });
    expect((await rollout("restart")).outputs).toEqual({ revision: 2, ready: 1, wanted: 1 });
    expect((await rollout("undo")).outputs).toEqual({ revision: 3, ready: 1, wanted: 1 });
    const deleted = await good("kubernetes.delete", { manifests: configMap + deployment("page") });
    expect(deleted.outputs).toEqual({
      objects: [
        expect.objectContaining({ name: "page", result: "deleted" }),
        expect.objectContaining({ name: "settings", result: "deleted" }),
      ],
    });
    expect(await w.cluster.kubectl("-n", NAMESPACE, "get", "pods", "-l", "app=page", "-o", "name")).toBe("");
  },
  4 * MINUTE,
);

const refused: [string, Record<string, unknown>, string, RegExp][] = [
  [
    "a right that is missing: verb, resource and namespace",
    { manifests: configMap, namespace: "default" },
    "Forbidden",
    /cannot patch resource "configmaps".* in the namespace "default"; give the delegate's service account/,
  ],
  [
    "YAML that is none, by its line",
    { manifests: "kind: ConfigMap\nmetadata: {\n" },
    "ManifestInvalid",
    /manifests: line \d/,
  ],
  [
    "a kind that the cluster does not have",
    { manifests: "apiVersion: a.example/v1\nkind: Thing\nmetadata: { name: x }" },
    "KindNotFound",
    /no kind Thing in a\.example\/v1/,
  ],
];
test.each(refused)(
  "refuses %s",
  async (_name, params, reason, says) => {
    expect(end(await task("kubernetes.apply", params))).toEqual(["Failed", reason, expect.stringMatching(says)]);
  },
  MINUTE,
);

test(
  "an image that cannot be had and a container that crashes say so, with the end of the log",
  async () => {
    const pulls = await task("kubernetes.apply", { manifests: deployment("pulls", "nowhere.invalid/nothing:1") }, 25);
    expect(end(pulls)).toEqual([
      "Failed",
      "NotReady",
      expect.stringMatching(/pulls-\S+: container page is in (ErrImagePull|ImagePullBackOff): .*nowhere\.invalid/),
    ]);
    // Without a probe Kubernetes calls a container ready while it runs, be it for an instant.
    const crash =
      ', readinessProbe: { tcpSocket: { port: 1 } }, command: ["sh", "-c", "echo the database is not there; exit 3"]';
    const crashes = await task("kubernetes.apply", { manifests: deployment("crashes", undefined, crash) }, 25);
    expect(end(crashes)).toEqual([
      "Failed",
      "NotReady",
      expect.stringMatching(/container page .*exit code 3.*its log ends with: the database is not there/),
    ]);
    const lines = await log(crashes.id);
    expect(lines).toContain("  the database is not there");
    expect(lines).toContainEqual(expect.stringMatching(/^waiting for apps\/Deployment deploys\/crashes: /));
    const immutable = await task("kubernetes.apply", {
      manifests: deployment("crashes").replaceAll("app: crashes", "app: other"),
    });
    expect(end(immutable)).toEqual([
      "Failed",
      "FieldImmutable",
      expect.stringMatching(/field is immutable; delete the object first/),
    ]);
    await good("kubernetes.delete", { manifests: deployment("pulls") + deployment("crashes") });
  },
  4 * MINUTE,
);

test(
  "a release is installed, upgraded and uninstalled with Helm; what is wrong with it is told by file or by Pod",
  async () => {
    const files = (more: Record<string, string> = {}) => ({
      "Chart.yaml": 'apiVersion: v2\nname: page\nversion: 1.0.0\nappVersion: "2"\n',
      "values.yaml": "tag: '1'\n",
      "templates/page.yaml": deployment("{{ .Release.Name }}", "outpost.local/guestbook:{{ .Values.tag }}"),
      ...more,
    });
    const upgrade = (more: Record<string, unknown> = {}, chart = files()) => ({
      release: "page",
      chart: { source: { files: chart } },
      ...more,
    });
    expect((await good("helm.upgrade", upgrade())).outputs).toEqual({
      revision: 1,
      status: "deployed",
      chart: "page-1.0.0",
      appVersion: "2",
    });
    expect((await good("helm.upgrade", upgrade({ values: "unused: true" }))).outputs).toMatchObject({ revision: 2 });
    const broken = await task(
      "helm.upgrade",
      upgrade({}, files({ "templates/bad.yaml": "a: {{ .Values.no.such }}\n" })),
    );
    expect(end(broken)).toEqual(["Failed", "ChartInvalid", expect.stringMatching(/bad\.yaml:1:/)]);
    const late = await task("helm.upgrade", upgrade({ set: { tag: "missing" }, atomic: true }), 30);
    expect(end(late)).toEqual([
      "Failed",
      "NotReady",
      expect.stringMatching(/rolled back.*container page is in (ErrImagePull|ImagePullBackOff)/s),
    ]);
    expect((await good("helm.uninstall", { release: "page" })).outputs).toEqual({ status: "uninstalled" });
  },
  5 * MINUTE,
);

test(
  "Terraform plans, is held by a policy, applies exactly the plan, and destroys",
  async () => {
    const main = `terraform {
  required_providers { kubernetes = { source = "hashicorp/kubernetes" } }
  backend "kubernetes" {
    secret_suffix     = "page"
    namespace         = "${NAMESPACE}"
    in_cluster_config = true
  }
}
variable "text" { type = string }
resource "kubernetes_config_map_v1" "page" {
  metadata {
    name      = "from-terraform"
    namespace = "${NAMESPACE}"
  }
  data = { text = var.text }
}
output "name" { value = kubernetes_config_map_v1.page.metadata[0].name }
`;
    const base = { source: { files: { "main.tf": main } }, variables: { text: "hello" } };
    const denied = await task("terraform.plan", {
      ...base,
      policy: { deny: [{ types: ["kubernetes_config_*"], message: "no settings today" }] },
    });
    expect(end(denied)).toEqual([
      "Failed",
      "PolicyDenied",
      "nothing was changed: kubernetes_config_map_v1.page (create) is denied: no settings today",
    ]);
    const planned = await good("terraform.plan", base);
    expect([planned.outputs, planned.artifacts?.map(({ name }) => name).sort()]).toEqual([
      { create: 1, update: 0, delete: 0, hasChanges: true },
      ["plan.json", "plan.tgz"],
    ]);
    const plan = { task: planned.id, name: "plan.tgz" };
    const applied = await good("terraform.apply", { plan });
    expect(applied.outputs).toEqual({ create: 1, update: 0, delete: 0, outputs: { name: "from-terraform" } });
    expect(
      await w.cluster.kubectl("-n", NAMESPACE, "get", "configmap", "from-terraform", "-o", "jsonpath={.data.text}"),
    ).toBe("hello");
    expect(end(await task("terraform.apply", { plan }))).toEqual([
      "Failed",
      "PlanStale",
      expect.stringMatching(/plan again/),
    ]);
    const wrong = await task("terraform.plan", {
      ...base,
      source: { files: { "main.tf": `${main}\nresource "kubernetes_config_map_v1" "x" {\n  nothing = 1\n}\n` } },
    });
    expect(end(wrong)).toEqual(["Failed", "PlanFailed", expect.stringMatching(/main\.tf:\d+: /)]);
    expect((await good("terraform.destroy", base)).outputs).toEqual({ delete: 1 });
  },
  5 * MINUTE,
);

test(
  "a delegate without rights in its cluster says so, and what to do",
  async () => {
    const ran = await task("kubernetes.apply", { manifests: configMap }, 60, ["quickstart"]);
    expect(end(ran)).toEqual([
      "Failed",
      "NoClusterRights",
      expect.stringMatching(/install it with other `permissions`/),
    ]);
  },
  MINUTE,
);
