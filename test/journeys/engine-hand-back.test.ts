import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";
import { handBack } from "../../server/agent/eval/hand-back.ts";
import { parseKubeconfig } from "../../server/kube/config.ts";
import type { KubeObject } from "../../server/kube/object.ts";
import { RESOURCES, type Resource } from "../../server/kube/path.ts";
import { toolPath } from "../cluster/apiserver.ts";
import { CONFIG_MAP, configMap, DEPLOYMENT, synced, value, type World, world } from "./engine-world.ts";
import { documents, LAST_APPLIED, TRACKING } from "./former-engine.ts";

/** The way back: what this engine applied, Argo CD goes on with. Its default sync is `kubectl apply`, and that is run here for real. */
const SERVICE: Resource = { group: "", version: "v1", kind: "Service", plural: "services", namespaced: true };
const KUBECTL = toolPath("kubernetes", "kubectl");
const files = (more: boolean) => `${configMap("a", more ? { keep: "1", gone: "1" } : { keep: "1" })}---
apiVersion: v1
kind: Secret
metadata: {name: s, labels: ${more ? "{team: red}" : "{}"}}
stringData: {password: p}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {clusterIP: None, selector: {app: web}, ports: [{name: http, port: 80}${more ? ", {name: more, port: 81}" : ""}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: main, image: x, env: [{name: A, value: "1"}${more ? ', {name: EMPTY, value: ""}' : ""}]}]}}
`;
const BY_HAND = { automated: { prune: true, selfHeal: true }, syncOptions: ["CreateNamespace=true"] };

let w: World;
beforeAll(async () => {
  w = await world();
  for (const name of ["client", "server"]) {
    await w.git.createRepository(name, { files: { "app/all.yaml": files(true) } });
    const syncOptions = [...BY_HAND.syncOptions, ...(name === "server" ? ["ServerSideApply=true"] : [])];
    await w.app(name, { repo: name, path: "app", syncPolicy: { ...BY_HAND, syncOptions } });
    await w.until(name, synced);
  }
  await w.halt();
}, 120_000);
afterAll(() => w?.stop(), 30_000);

const config = () => parseKubeconfig(readFileSync(w.api.kubeconfig, "utf8"));
const one = async (resource: Resource, namespace: string, name: string) => (await w.object(resource, namespace, name))!;
// Not the generation: of a Deployment it counts annotations too.
const specOf = ({ spec, data, metadata }: KubeObject) => ({ spec, data, uid: metadata.uid });

/** As Argo CD syncs: each object with its tracking-id, by `kubectl apply`. */
async function syncAsArgo(app: string, text: string, serverSide: boolean): Promise<void> {
  for (const object of documents(text)) {
    const group = object.apiVersion.includes("/") ? object.apiVersion.split("/")[0] : "";
    const annotations = { [TRACKING]: `${app}:${group}/${object.kind}:${app}/${object.metadata.name}` };
    const manifest = { ...object, metadata: { ...object.metadata, namespace: app, annotations } };
    const flags = serverSide ? ["--server-side", "--force-conflicts"] : [];
    const args = [
      "--kubeconfig",
      w.api.kubeconfig,
      "apply",
      "--field-manager=argocd-controller",
      "--validate=false",
      ...flags,
      "-f",
      "-",
    ];
    const child = promisify(execFile)(KUBECTL, args);
    child.child.stdin!.end(JSON.stringify(manifest));
    await child;
  }
}

test("handing back changes no spec, takes the label off and writes what was applied last", async () => {
  const before = await Promise.all(["client", "server"].map((name) => one(DEPLOYMENT, name, "web")));
  const tried = value(await handBack({ config: config(), namespace: w.namespace, applications: [], dryRun: true }));
  expect(tried.objects.map(({ application }) => application).filter((name) => name === "client")).toHaveLength(4);
  expect((await one(CONFIG_MAP, "client", "a")).metadata.labels).toHaveProperty(["outpost.dev/app"]);
  value(await handBack({ config: config(), namespace: w.namespace, applications: [], dryRun: false }));
  for (const [i, name] of ["client", "server"].entries()) {
    const after = await one(DEPLOYMENT, name, "web");
    expect(specOf(after)).toEqual(specOf(before[i]!));
    expect(JSON.stringify(after.metadata)).not.toContain("outpost.dev/");
    expect(after.metadata.annotations?.[LAST_APPLIED] === undefined).toBe(name === "server");
  }
  const said = JSON.parse((await one(CONFIG_MAP, "client", "a")).metadata.annotations![LAST_APPLIED]!);
  expect(said).toEqual({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "a", namespace: "client", annotations: { [TRACKING]: "client:/ConfigMap:client/a" } },
    data: { keep: "1", gone: "1" },
  });
});

test.each([
  ["client", false],
  ["server", true],
])("what leaves Git after that is removed by Argo CD's sync: %s side", async (name, serverSide) => {
  await syncAsArgo(name, files(false), serverSide);
  expect((await one(CONFIG_MAP, name, "a")).data).toEqual({ keep: "1" });
  expect((await one(SERVICE, name, "web")).spec.ports.map(({ port }: { port: number }) => port)).toEqual([80]);
  expect((await one(DEPLOYMENT, name, "web")).spec.template.spec.containers[0].env).toEqual([
    { name: "A", value: "1" },
  ]);
  const secret: Resource = { ...CONFIG_MAP, kind: "Secret", plural: "secrets" };
  expect((await one(secret, name, "s")).metadata.labels ?? {}).toEqual({});
});

test("an application that is not there is named, and a controller that runs is not disturbed", async () => {
  const asked = { config: config(), namespace: w.namespace, applications: ["nope"], dryRun: true };
  expect(await handBack(asked)).toMatchObject({ kind: "stop", reason: "NotFound" });
  const lease: Resource = {
    group: "coordination.k8s.io",
    version: "v1",
    kind: "Lease",
    plural: "leases",
    namespaced: true,
  };
  const spec = {
    holderIdentity: "pod-1",
    leaseDurationSeconds: 15,
    renewTime: new Date().toISOString().replace("Z", "000Z"),
  };
  const metadata = { name: "outpost-controller", namespace: w.namespace };
  value(await w.client.create(lease, { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata, spec }));
  const refused = await handBack({ ...asked, applications: [], dryRun: false });
  expect(refused).toMatchObject({
    kind: "stop",
    reason: "ControllerRunning",
    message: expect.stringContaining("pod-1"),
  });
});

test("a sync that was running is left as Argo CD expects it: with its request", async () => {
  const app = await w.get("client");
  const operation = { sync: { revision: app.status!.sync!.revision }, initiatedBy: { username: "ana" } };
  const operationState = { ...app.status!.operationState, phase: "Running", finishedAt: null, operation };
  const patch = { status: { operationState } };
  value(await w.client.mergePatch(RESOURCES.application, w.namespace, "client", patch));
  const asked = { config: config(), namespace: w.namespace, applications: ["client"] };
  const request = {
    application: "client",
    object: "Application client",
    changes: ["request of the running sync restored"],
  };
  expect(value(await handBack({ ...asked, dryRun: true })).objects).toContainEqual(request);
  expect((await w.get("client")).operation).toBeUndefined();
  const lease: Resource = {
    group: "coordination.k8s.io",
    version: "v1",
    kind: "Lease",
    plural: "leases",
    namespaced: true,
  };
  await w.client.delete(lease, w.namespace, "outpost-controller");
  expect(value(await handBack({ ...asked, dryRun: false })).objects).toContainEqual(request);
  const syncOptions = app.spec.syncPolicy?.syncOptions;
  expect((await w.get("client")).operation).toMatchObject({
    ...operation,
    sync: { ...operation.sync, source: app.spec.source, syncOptions },
  });
  expect(value(await handBack({ ...asked, dryRun: false })).objects).toEqual([]);
});
