import { execFile, execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { newBudget } from "../../server/agent/repo/files/extract.ts";
import { FolderTree } from "../../server/agent/repo/files/folder.ts";
import { pack } from "../../server/agent/repo/files/pack.ts";
import { PluginClient } from "../../server/agent/repo/plugin/client.ts";
import { RESOURCES } from "../../server/kube/path.ts";
import { parseManifests } from "../../server/kube/yaml.ts";
import { CONFIG_MAP, configMap, synced, value, type World, world } from "./engine-world.ts";

const PROGRAM = fileURLToPath(new URL("../../dist/outpost.mjs", import.meta.url));
let w: World;
let folder: string;
beforeAll(async () => {
  w = await world();
  folder = mkdtempSync(join(tmpdir(), "files-"));
}, 90_000);
afterAll(async () => {
  await w?.stop();
  rmSync(folder, { recursive: true, force: true });
}, 30_000);

const outpost = (...args: string[]) =>
  new Promise<{ status: number; stdout: string; stderr: string }>((resolve) => {
    const options = { encoding: "utf8" as const, timeout: 240_000 };
    execFile(process.execPath, [PROGRAM, "admin", ...args], options, (error, stdout, stderr) =>
      resolve({ status: Number(error?.code ?? 0), stdout, stderr }),
    );
  });

test("what the controller applied differs in nothing from its rendering, and a diff against the cluster only reads", async () => {
  const deployment = (image: string) =>
    JSON.stringify({
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "web" },
      spec: {
        replicas: 1,
        selector: { matchLabels: { a: "b" } },
        template: {
          metadata: { labels: { a: "b" } },
          spec: {
            containers: [{ name: "c", image, ports: [{ containerPort: 80 }], resources: { limits: { cpu: 0.5 } } }],
          },
        },
      },
    });
  const secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {k: hunter2}\n";
  const files = {
    "a.yaml": configMap("a", { k: "one" }),
    "d.yaml": deployment("nginx:1"),
    "s.yaml": secret,
    "gone.yaml": configMap("gone", { k: "v" }),
  };
  await w.git.createRepository("viewed", { files });
  const made = await w.app("viewed", { repo: "viewed" });
  await w.until("viewed", synced, "Synced");
  const app = join(folder, "app.json");
  writeFileSync(app, JSON.stringify({ ...made, status: undefined }));
  const same = await outpost("diff", app, "--kubeconfig", w.api.kubeconfig);
  expect([same.status, same.stdout, same.stderr]).toEqual([0, "", ""]);

  const checkout = join(folder, "checkout");
  mkdirSync(checkout);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(checkout, name), text);
  writeFileSync(join(checkout, "a.yaml"), configMap("a", { k: "two" }));
  writeFileSync(join(checkout, "d.yaml"), deployment("nginx:2"));
  writeFileSync(join(checkout, "s.yaml"), secret.replace("hunter2", "hunter3"));
  writeFileSync(join(checkout, "new.yaml"), configMap("new", { k: "v" }));
  rmSync(join(checkout, "gone.yaml"));
  const before = value(await w.client.list(CONFIG_MAP, { namespace: "viewed" })).resourceVersion;
  const { status, stdout } = await outpost(
    "diff",
    app,
    "--kubeconfig",
    w.api.kubeconfig,
    "--path",
    checkout,
    "-o",
    "json",
  );
  expect(status).toBe(1);
  const items = JSON.parse(stdout).items as {
    kind: string;
    name: string;
    change: string;
    live?: string;
    desired?: string;
  }[];
  expect(items.map(({ kind, name, change }) => `${change} ${kind} ${name}`).sort()).toEqual([
    "create ConfigMap new",
    "delete ConfigMap gone",
    "update ConfigMap a",
    "update Deployment web",
    "update Secret s",
  ]);
  const web = items.find(({ name }) => name === "web")!;
  const lines = (text = "") => text.split("\n");
  expect(lines(web.desired).filter((line) => !lines(web.live).includes(line))).toEqual([
    expect.stringMatching(/image: nginx:2/),
  ]);
  expect(stdout).not.toMatch(/hunter|aHVudGVy/);
  expect(
    value(await w.client.list(CONFIG_MAP, { namespace: "viewed" })).items.map(({ metadata }) => metadata.name),
  ).toContain("gone");
  expect(before).toBeDefined();
  expect((await w.object(RESOURCES.secret, "viewed", "s"))?.data).toEqual({
    k: Buffer.from("hunter2").toString("base64"),
  });
}, 90_000);

/** Each is written in a way that the API server stores in another way. */
const ODD = {
  "roles.yaml": `apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: r, annotations: {}, labels: null}
rules: [{apiGroups: [""], resources: [pods], verbs: [get], resourceNames: []}]
`,
  "sts.yaml": `apiVersion: apps/v1
kind: StatefulSet
metadata: {name: s, creationTimestamp: null}
spec:
  serviceName: s
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec:
      nodeSelector: {}
      tolerations: []
      containers: [{name: c, image: i, env: [{name: A, value: ""}], resources: {limits: {memory: 1024Mi, cpu: 1000m}}}]
  volumeClaimTemplates:
  - metadata: {name: v}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1024Mi}}}
status: {}
`,
  "hpa1.yaml": `apiVersion: autoscaling/v1
kind: HorizontalPodAutoscaler
metadata: {name: one}
spec: {scaleTargetRef: {apiVersion: apps/v1, kind: StatefulSet, name: s}, maxReplicas: 3, targetCPUUtilizationPercentage: 60}
`,
  "hpa2.yaml": `apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: two}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: StatefulSet, name: s}
  maxReplicas: 3
  metrics: [{type: Resource, resource: {name: memory, target: {type: AverageValue, averageValue: 1024Mi}}}]
`,
  "hook.yaml": `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: odd}
webhooks:
- name: w.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Ignore
  clientConfig: {url: "https://127.0.0.1:1/x"}
  rules: [{apiGroups: [example.com], apiVersions: [v1], operations: [CREATE], resources: [things]}]
`,
  "service.yaml": `apiVersion: v1
kind: Service
metadata: {name: s}
spec: {clusterIP: "", selector: {a: b}, ports: [{port: 80}], externalIPs: []}
`,
};

test("what the API server stores in its own way differs in nothing, and a change beside it is seen", async () => {
  await w.git.createRepository("odd", { files: ODD });
  const made = await w.app("odd", { repo: "odd" });
  await w.until("odd", synced, "Synced");
  const app = join(folder, "odd.json");
  writeFileSync(app, JSON.stringify({ ...made, status: undefined }));
  const same = await outpost("diff", app, "--kubeconfig", w.api.kubeconfig);
  expect([same.status, same.stdout, same.stderr]).toEqual([0, "", ""]);

  const checkout = join(folder, "odd");
  mkdirSync(checkout);
  for (const [name, text] of Object.entries(ODD))
    writeFileSync(join(checkout, name), text.replace("maxReplicas: 3", "maxReplicas: 4"));
  const changed = await outpost("diff", app, "--kubeconfig", w.api.kubeconfig, "--path", checkout, "-o", "json");
  expect(
    JSON.parse(changed.stdout)
      .items.map((item: { name: string }) => item.name)
      .sort(),
  ).toEqual(["one", "two"]);
}, 90_000);

test("the program of a sidecar renders with a real plugin and ends when it is told", async () => {
  const home = join(folder, "plugin");
  const source = join(folder, "source");
  mkdirSync(home);
  mkdirSync(source);
  writeFileSync(join(source, "in.txt"), "seen");
  const spec = {
    version: "v1",
    generate: { command: ["sh", "-c", `echo '${configMap("made", { k: "v" }).trim()}'; cat in.txt >&2`] },
  };
  const file = { apiVersion: "argoproj.io/v1alpha1", kind: "ConfigManagementPlugin", metadata: { name: "real" }, spec };
  writeFileSync(join(home, "plugin.yaml"), JSON.stringify(file));
  const env = { ...process.env, OUTPOST_PLUGIN_CONFIG: join(home, "plugin.yaml"), OUTPOST_PLUGIN_SOCKETS: home };
  const child = spawn(process.execPath, [PROGRAM, "plugin-server"], { env, stdio: "ignore" });
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
  try {
    const socket = join(home, "real-v1.sock");
    const deadline = Date.now() + 60_000;
    while (!existsSync(socket) && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 20));
    const archive = value(await pack(value(await FolderTree.of(source)), [""], newBudget()));
    // Both are told apart by tar itself.
    expect(execFileSync("tar", ["-tz"], { input: archive, encoding: "utf8" }).trim()).toBe("in.txt");
    const made = value(await new PluginClient("real-v1", socket).generate({ archive, app: "a", path: ".", env: [] }));
    expect(value(parseManifests(made.join(""), "output"))).toMatchObject([
      { kind: "ConfigMap", metadata: { name: "made" } },
    ]);
  } finally {
    child.kill("SIGTERM");
  }
  expect(await ended).toBe(0);
}, 60_000);
