import type { Application } from "../../server/agent/controller/application.ts";
import type { KubeObject } from "../../server/kube/object.ts";
import { RESOURCES, type Resource } from "../../server/kube/path.ts";
import { watch } from "../../server/kube/watch.ts";
import { toolPath } from "../cluster/apiserver.ts";
import { type Daemon, daemon } from "../servers/run.ts";
import { configMap, synced, value, type World, world } from "./engine-world.ts";

/** Hooks beside Kubernetes' own controllers: of Jobs, of what has finished, of namespaces, and of what belongs to something that is gone. */
const JOB: Resource = { group: "batch", version: "v1", kind: "Job", plural: "jobs", namespaced: true };
const SYNCS = process.env.PROVE ? 100 : 20;
let w: World;
let manager: Daemon;
let made: KubeObject[] = [];
const stop = new AbortController();
beforeAll(async () => {
  w = await world();
  manager = daemon(toolPath("kubernetes", "kube-controller-manager"), [
    `--kubeconfig=${w.api.kubeconfig}`,
    "--controllers=job-controller,ttl-after-finished-controller,namespace-controller,garbage-collector-controller",
    "--leader-elect=false",
    "--secure-port=0",
  ]);
  void watch({
    client: w.client,
    resource: JOB,
    signal: stop.signal,
    replace: () => undefined,
    change: (type, object) => {
      if (type === "ADDED") made.push(object);
    },
  });
}, 90_000);
afterAll(async () => {
  stop.abort();
  await manager?.stop("SIGKILL");
  await w?.stop();
}, 30_000);

const job = (completions: number) => `apiVersion: batch/v1
kind: Job
metadata: {name: hook, annotations: {argocd.argoproj.io/hook: PreSync}}
spec: {completions: ${completions}, ttlSecondsAfterFinished: 0, template: {spec: {restartPolicy: Never, containers: [{name: main, image: x}]}}}
`;
const syncPolicy = { syncOptions: ["CreateNamespace=true"] };
const state = (app: Application) => app.status?.operationState;
async function begin(name: string): Promise<string | undefined> {
  const before = state(await w.get(name))?.startedAt;
  value(await w.client.mergePatch(RESOURCES.application, w.namespace, name, { operation: { sync: {} } }));
  return before;
}
const ended = (name: string, before: string | undefined) =>
  w.until(
    name,
    (a) => /^(Succeeded|Failed|Error)$/.test(state(a)?.phase ?? "") && state(a)?.startedAt !== before,
    "ended",
  );

test("a Job that is gone the moment it has finished has succeeded, runs once in each sync, and is never left behind", async () => {
  await w.git.createRepository("fleeting", { files: { "a.yaml": configMap("a", {}), "hook.yaml": job(0) } });
  await w.app("fleeting", { repo: "fleeting", syncPolicy });
  for (let i = 1; i <= SYNCS; i++) {
    made = [];
    const app = await ended("fleeting", await begin("fleeting"));
    expect([i, state(app)?.message, synced(app)]).toEqual([i, "successfully synced (all tasks run)", true]);
    await w.settled(async () => (await w.object(JOB, "fleeting", "hook")) === undefined, "without the Job");
    expect([i, made.length]).toEqual([i, 1]);
  }
}, 300_000);

test("a namespace that is deleted while a hook works in it goes, and the sync has failed", async () => {
  await w.git.createRepository("doomed", { files: { "a.yaml": configMap("a", {}), "hook.yaml": job(1) } });
  await w.app("doomed", { repo: "doomed", syncPolicy });
  const before = await begin("doomed");
  await w.settled(async () => ((await w.object(JOB, "doomed", "hook"))?.status?.active ?? 0) > 0, "working");
  value(await w.client.delete(RESOURCES.namespace, undefined, "doomed"));
  const app = await ended("doomed", before);
  expect(state(app)?.syncResult?.resources).toMatchObject([
    { kind: "Namespace" },
    { name: "hook", hookPhase: "Failed" },
  ]);
  await w.settled(
    async () => (await w.object(RESOURCES.namespace, undefined, "doomed")) === undefined,
    "without the namespace",
  );
});

test("an application that is deleted while a hook works goes with it, and so does its namespace afterwards", async () => {
  await w.git.createRepository("leaving", { files: { "a.yaml": configMap("a", {}), "hook.yaml": job(1) } });
  await w.app("leaving", { repo: "leaving", syncPolicy }, { finalizers: ["resources-finalizer.argocd.argoproj.io"] });
  await begin("leaving");
  await w.settled(async () => ((await w.object(JOB, "leaving", "hook"))?.status?.active ?? 0) > 0, "working");
  value(await w.client.delete(RESOURCES.application, w.namespace, "leaving"));
  await w.settled(async () => (await w.object(RESOURCES.application, w.namespace, "leaving")) === undefined, "deleted");
  expect(await w.object(JOB, "leaving", "hook")).toBeUndefined();
  value(await w.client.delete(RESOURCES.namespace, undefined, "leaving"));
  await w.settled(
    async () => (await w.object(RESOURCES.namespace, undefined, "leaving")) === undefined,
    "without the namespace",
  );
});
