import type { Application, Operation } from "../../server/agent/controller/application.ts";
import { META } from "../../server/agent/controller/application.ts";
import { RESOURCES, type Resource } from "../../server/kube/path.ts";
import { CONFIG_MAP, configMap, value, type World, world } from "./engine-world.ts";

/** Syncs that people ask for: each is carried out once, with what Git has then, or told why it is not. */
const JOB: Resource = { group: "batch", version: "v1", kind: "Job", plural: "jobs", namespaced: true };
const BY_HAND = { syncOptions: ["CreateNamespace=true", "PrunePropagationPolicy=background"] };
let w: World;
beforeAll(async () => {
  w = await world();
}, 90_000);
afterAll(() => w?.stop());

const write = async (name: string, patch: object) =>
  value(await w.client.mergePatch(RESOURCES.application, w.namespace, name, patch));
const ask = (name: string, sync: Operation["sync"] = {}) => write(name, { operation: { sync } });
const phase = (app: Application) => app.status?.operationState?.phase;
const ended = (app: Application) => app.operation === undefined && /^(Succeeded|Failed|Error)$/.test(phase(app) ?? "");

test("a sync that is asked for takes what Git has now, not what was seen last", async () => {
  await w.git.createRepository("now", { files: { "a.yaml": configMap("a", { rev: "1" }) } });
  await w.app("now", { repo: "now", syncPolicy: BY_HAND });
  await w.until("now", (app) => app.status?.sync?.status === "OutOfSync", "compared");
  for (const rev of ["2", "3"]) {
    const tip = await w.git.commit("now", { "a.yaml": configMap("a", { rev }) }, rev);
    await ask("now");
    const app = await w.until(
      "now",
      (a) => ended(a) && a.status?.operationState?.syncResult?.revision === tip,
      `synced to ${rev}`,
    );
    expect(app.status?.sync).toMatchObject({ status: "Synced", revision: tip });
    expect((await w.object(CONFIG_MAP, "now", "a"))?.data).toEqual({ rev });
  }
});

// No controller-manager ends a Job here: the test does.
test("the same sync asked for again while it runs is carried out after it, hooks and all", async () => {
  const hook = `apiVersion: batch/v1
kind: Job
metadata: {name: hook, annotations: {argocd.argoproj.io/hook: PreSync}}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: x}]}}}
`;
  await w.git.createRepository("twice", { files: { "a.yaml": configMap("a", {}), "hook.yaml": hook } });
  await w.app("twice", { repo: "twice", syncPolicy: BY_HAND });
  await w.until("twice", (app) => app.status?.sync?.status === "OutOfSync", "compared");
  const uids: string[] = [];
  const finish = async () => {
    await w.settled(async () => {
      const uid = (await w.object(JOB, "twice", "hook"))?.metadata.uid;
      return uid !== undefined && !uids.includes(uid);
    }, `a hook after ${uids.length}`);
    const job = (await w.object(JOB, "twice", "hook"))!;
    uids.push(job.metadata.uid!);
    const at = new Date().toISOString().replace(/\.\d+/, "");
    const conditions = ["SuccessCriteriaMet", "Complete"].map((type) => ({
      type,
      status: "True",
      lastTransitionTime: at,
    }));
    const status = { conditions, startTime: at, completionTime: at, succeeded: 1 };
    value(await w.client.mergePatch(JOB, "twice", "hook", { status }, { subresource: "status" }));
  };
  await ask("twice");
  await w.until("twice", (app) => phase(app) === "Running" && app.operation === undefined, "begun");
  await ask("twice");
  await finish();
  await finish();
  const app = await w.until("twice", (a) => ended(a) && a.status?.history?.length === 2, "synced twice");
  expect([phase(app), new Set(uids).size]).toEqual(["Succeeded", 2]);
});

test("a sync that cannot be is told of within seconds and not kept until it can", async () => {
  await w.git.createRepository("later", { files: { "a.yaml": configMap("a", {}) } });
  await w.app("later", { repo: "later", path: "nowhere", syncPolicy: BY_HAND });
  await w.until("later", (app) => app.status?.sync?.status === "Unknown", "compared");
  await ask("later");
  const app = await w.until("later", ended, "refused");
  expect(app.status?.operationState).toMatchObject({
    phase: "Error",
    message: expect.stringMatching(/^ComparisonError: .*nowhere/),
  });
  await w.git.commit("later", { "nowhere/a.yaml": configMap("a", {}) }, "there");
  await w.refresh("later");
  const seen = await w.until("later", (a) => a.status?.sync?.status === "OutOfSync", "compared");
  expect(seen.status?.operationState).toEqual(app.status?.operationState);
  expect(await w.object(CONFIG_MAP, "later", "a")).toBeUndefined();

  // What was mended along with the request is synced.
  await write("later", { spec: { source: { path: "nowhere/else" } } });
  await w.until("later", (a) => a.status?.sync?.status === "Unknown", "broken again");
  const tip = await w.git.commit("later", { "nowhere/else/a.yaml": configMap("a", {}) }, "there too");
  await ask("later");
  await w.until("later", (a) => ended(a) && a.status?.operationState?.syncResult?.revision === tip, "synced");
});

test("a sync can be ended whose sources are gone", async () => {
  await w.git.createRepository("gone", { files: { "a.yaml": configMap("a", {}) } });
  await w.app("gone", { repo: "gone", syncPolicy: BY_HAND });
  await w.until("gone", (app) => app.status?.sync?.status === "OutOfSync", "compared");
  await write("gone", { metadata: { annotations: { [META.skipReconcile]: "true" } } });
  const operationState = { operation: { sync: {} }, phase: "Terminating", startedAt: "2026-01-01T00:00:00Z" };
  await write("gone", { spec: { source: { path: "nowhere" } }, status: { operationState } });
  await write("gone", { metadata: { annotations: { [META.skipReconcile]: null } } });
  const app = await w.until("gone", ended, "ended");
  expect(app.status?.operationState).toMatchObject({ phase: "Failed", message: "Operation terminated" });
});

test("a sync that failed and waits for its next attempt gives way to one that is asked for", async () => {
  const service = (port: number) =>
    `apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {ports: [{port: ${port}}]}\n`;
  await w.git.createRepository("gives", { files: { "s.yaml": service(99_999) } });
  await w.app("gives", { repo: "gives", syncPolicy: BY_HAND });
  await w.until("gives", (app) => app.status?.sync?.status === "OutOfSync", "compared");
  const retry = { limit: 5, backoff: { duration: "10m", factor: 1, maxDuration: "1h" } };
  await write("gives", { operation: { sync: {}, retry } });
  await w.until("gives", (app) => /Retrying attempt #1/.test(app.status?.operationState?.message ?? ""), "retrying");
  const fix = await w.git.commit("gives", { "s.yaml": service(99) }, "a port that exists");
  await ask("gives");
  const app = await w.until("gives", (a) => a.operation === undefined && phase(a) === "Succeeded", "synced");
  expect(app.status?.operationState?.syncResult?.revision).toBe(fix);
  expect(app.status?.operationState?.operation.retry).toBeUndefined();
});
