import type { Application } from "../../server/agent/controller/application.ts";
import type { KubeObject } from "../../server/kube/object.ts";
import { RESOURCES, type Resource } from "../../server/kube/path.ts";
import { CONFIG_MAP, configMap, synced, value, type World, world } from "./engine-world.ts";

/** A hook is held by a finalizer until its end has been seen and written down, and never longer. No Job controller runs: this test is it. */
const JOB: Resource = { group: "batch", version: "v1", kind: "Job", plural: "jobs", namespaced: true };
const FINALIZER = "argocd.argoproj.io/hook-finalizer";
const BY_HAND = { syncOptions: ["CreateNamespace=true", "PrunePropagationPolicy=background"] };
let w: World;
beforeAll(async () => {
  w = await world();
}, 90_000);
afterAll(() => w?.stop(), 30_000);

const job = (name: string, annotations: string) => `apiVersion: batch/v1
kind: Job
metadata: {name: ${name}, annotations: {${annotations}}}
spec: {ttlSecondsAfterFinished: 0, template: {spec: {restartPolicy: Never, containers: [{name: main, image: x}]}}}
`;
const PRE = "argocd.argoproj.io/hook: PreSync";
const hookOf = (name: string) => w.object(JOB, name, "hook");
const state = (app: Application) => app.status?.operationState;
const patch = async (name: string, body: object) =>
  value(await w.client.mergePatch(RESOURCES.application, w.namespace, name, body));
const remove = async (resource: Resource, namespace: string, name: string) =>
  value(await w.client.delete(resource, namespace, name, { propagation: "Background" }));
const gone = (name: string) => w.settled(async () => (await hookOf(name)) === undefined, "without its hook");

async function end(name: string, type: "Complete" | "Failed"): Promise<void> {
  const at = new Date().toISOString().replace(/\.\d+/, "");
  const all = [type === "Complete" ? "SuccessCriteriaMet" : "FailureTarget", type];
  const conditions = all.map((one) => ({
    type: one,
    status: "True",
    lastTransitionTime: at,
    message: "as it was told",
  }));
  const more = type === "Complete" ? { completionTime: at, succeeded: 1 } : {};
  value(await w.client.patchStatus(JOB, name, "hook", { conditions, startTime: at, ...more }));
}

/** An application whose sync has begun and waits for its hook. */
async function waiting(
  name: string,
  files: Record<string, string> = {},
  metadata: Partial<KubeObject["metadata"]> = {},
): Promise<KubeObject> {
  await w.git.createRepository(name, {
    files: { "a.yaml": configMap("a", {}), "hook.yaml": job("hook", PRE), ...files },
  });
  await w.app(name, { repo: name, syncPolicy: BY_HAND }, metadata);
  await patch(name, { operation: { sync: {} } });
  await w.until(
    name,
    (app) => /^waiting for completion of hook/.test(state(app)?.message ?? ""),
    "waiting for its hook",
  );
  return (await hookOf(name))!;
}
/** The row of the namespace that a sync made. */
const MADE = { kind: "Namespace", hookPhase: "Succeeded" };
const ended = (name: string) =>
  w.until(name, (app) => /^(Succeeded|Failed|Error)$/.test(state(app)?.phase ?? ""), "ended");

test("a hook that takes itself away when it is done is seen to its end, and goes when that is written down", async () => {
  for (const [name, type, phase] of [
    ["done", "Complete", "Succeeded"],
    ["broken", "Failed", "Failed"],
  ] as const) {
    expect((await waiting(name)).metadata.finalizers).toEqual([FINALIZER]);
    await end(name, type);
    await remove(JOB, name, "hook");
    expect(state(await ended(name))).toMatchObject({
      phase,
      syncResult: { resources: [MADE, { name: "hook", hookPhase: phase }, ...(phase === "Failed" ? [] : [{}])] },
    });
    await gone(name);
  }
});

test("after a sync that waited, the application was looked at no earlier than the sync ended, and its hook's health is told", async () => {
  // `argocd app wait` and `argocd app sync` wait for both, by the seconds that are written.
  await waiting("waited");
  await w.settled(
    async () => Date.now() - Date.parse((await w.get("waited")).status!.reconciledAt!) > 2_000,
    "a while later",
  );
  await end("waited", "Complete");
  const { status } = await ended("waited");
  expect(Date.parse(status!.reconciledAt!)).toBeGreaterThanOrEqual(Date.parse(status!.operationState!.finishedAt!));
  const rowOf = async () => (await w.get("waited")).status!.resources!.find(({ kind }) => kind === "Job");
  await w.settled(async () => (await rowOf())?.health?.status === "Healthy", "told of the hook's health");
  expect(await rowOf()).toMatchObject({ hook: true, requiresPruning: true, health: { message: "as it was told" } });
});

test("a hook that somebody takes away while it works is waited for, also by another controller, and runs once", async () => {
  const { uid } = (await waiting("early")).metadata;
  await remove(JOB, "early", "hook");
  await w.restart();
  await patch("early", { metadata: { annotations: { "argocd.argoproj.io/refresh": "normal" } } });
  await w.until(
    "early",
    (app) => app.metadata.annotations?.["argocd.argoproj.io/refresh"] === undefined,
    "looked at once more",
  );
  expect(state(await w.get("early"))?.phase).toBe("Running");
  expect((await hookOf("early"))?.metadata.uid).toBe(uid);
  await end("early", "Complete");
  expect(synced(await ended("early"))).toBe(true);
  await gone("early");
});

test("a hook whose namespace is being deleted holds neither the namespace nor the sync", async () => {
  await waiting("doomed");
  value(await w.client.delete(RESOURCES.namespace, undefined, "doomed"));
  await remove(JOB, "doomed", "hook");
  const app = await ended("doomed");
  expect(state(app)?.syncResult?.resources).toMatchObject([
    MADE,
    { name: "hook", hookPhase: "Failed", message: "its namespace is being deleted" },
  ]);
  await gone("doomed");
});

test("a sync that is ended takes along the hook that runs", async () => {
  await waiting("ended");
  await patch("ended", { status: { operationState: { phase: "Terminating" } } });
  expect(state(await ended("ended"))).toMatchObject({ phase: "Failed", message: "Operation terminated" });
  await gone("ended");
});

test("a sync that has failed waits for the hooks that it began, and nothing more is begun", async () => {
  const bad = configMap("b", {}, ", annotations: {argocd.argoproj.io/hook: PreSync}").replace("data: {}", "data: []");
  await w.git.createRepository("both", {
    files: { "a.yaml": configMap("a", {}), "hook.yaml": job("hook", PRE), "b.yaml": bad },
  });
  await w.app("both", { repo: "both", syncPolicy: BY_HAND });
  await patch("both", { operation: { sync: {} } });
  await w.until(
    "both",
    (app) => /^waiting for completion of hook batch\/Job\/hook/.test(state(app)?.message ?? ""),
    "waiting",
  );
  await end("both", "Complete");
  const app = await ended("both");
  expect(state(app)?.phase).toBe("Failed");
  expect(state(app)?.syncResult?.resources?.map((r) => [r.name, r.hookPhase])).toEqual([
    ["both", "Succeeded"],
    ["b", "Failed"],
    ["hook", "Succeeded"],
  ]);
  expect(await w.object(CONFIG_MAP, "both", "a")).toBeUndefined();
  await w.settled(async () => (await hookOf("both"))?.metadata.finalizers === undefined, "let go of");
});

test("what an application that is deleted had begun is let go of: with its objects, without them, and where the controller was away", async () => {
  const cascade = { finalizers: ["resources-finalizer.argocd.argoproj.io/background"] };
  for (const [name, metadata, restarted] of [
    ["with", cascade, false],
    ["with-later", cascade, true],
    ["without", {}, false],
  ] as const) {
    await waiting(name, {}, { ...metadata });
    value(await w.client.delete(RESOURCES.application, w.namespace, name));
    if (restarted) await w.restart();
    await w.settled(async () => (await w.object(RESOURCES.application, w.namespace, name)) === undefined, "deleted");
    if (name !== "without") await gone(name);
    await w.settled(async () => (await hookOf(name))?.metadata.finalizers === undefined, "let go of");
  }
});

test("a hook that an earlier run has left, held, makes room for the next one", async () => {
  const held = { name: "hook", namespace: "left", finalizers: [FINALIZER] };
  value(
    await w.client.create(RESOURCES.namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name: "left" } }),
  );
  const template = { spec: { restartPolicy: "Never", containers: [{ name: "main", image: "x" }] } };
  const labels = { "outpost.dev/app": "left" };
  const annotations = { "argocd.argoproj.io/hook": "PreSync", "outpost.dev/hook-started-at": "2020-01-01T00:00:00Z" };
  const metadata = { ...held, labels, annotations };
  const { uid } = value(
    await w.client.create(JOB, { apiVersion: "batch/v1", kind: "Job", metadata, spec: { template } }),
  ).metadata;
  await waiting("left");
  expect((await hookOf("left"))?.metadata.uid).not.toBe(uid);
  await end("left", "Complete");
  expect(synced(await ended("left"))).toBe(true);
});

test("a hook of two phases runs once in each, also where another controller takes over between them", async () => {
  const both = job("hook", "argocd.argoproj.io/hook: 'PreSync,PostSync'");
  const first = await waiting("twice", { "hook.yaml": both });
  await end("twice", "Complete");
  await w.settled(
    async () => ![undefined, first.metadata.uid].includes((await hookOf("twice"))?.metadata.uid),
    "re-created",
  );
  expect(state(await w.get("twice"))?.syncResult?.resources).toContainEqual(
    expect.objectContaining({ hookType: "PreSync", hookPhase: "Succeeded" }),
  );
  const { uid } = (await hookOf("twice"))!.metadata;
  await w.restart();
  await end("twice", "Complete");
  const app = await ended("twice");
  expect(synced(app)).toBe(true);
  expect((await hookOf("twice"))?.metadata.uid).toBe(uid);
  expect(state(app)?.syncResult?.resources?.map((r) => [r.name, r.syncPhase, r.hookPhase])).toEqual([
    ["twice", "PreSync", "Succeeded"],
    ["hook", "PreSync", "Succeeded"],
    ["a", "Sync", "Succeeded"],
    ["hook", "PostSync", "Succeeded"],
  ]);
});
