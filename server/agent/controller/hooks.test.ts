import { done } from "../../base/outcome.ts";
import { HOOK_FINALIZER, healthOf } from "../../kube/health/health.ts";
import type { KubeObject } from "../../kube/object.ts";
import type { OperationPhase, OperationState } from "./application.ts";
import type { Destination } from "./destination.ts";
import { hookObject, hookPhase, isNeeded, releaseAll } from "./hooks.ts";
import { BY_ANNOTATION } from "./tracking.ts";

const NOW = "2026-11-22T10:00:00Z";
const job: KubeObject = { apiVersion: "batch/v1", kind: "Job", metadata: { name: "migrate", namespace: "shop", finalizers: ["a/b"] } };
const run = (phase: OperationPhase, hookPhases: OperationPhase[] = [], startedAt = NOW): OperationState => ({
  operation: {},
  phase,
  startedAt,
  syncResult: {
    resources: hookPhases.map((hookPhase) => ({
      group: "batch",
      version: "v1",
      kind: "Job",
      namespace: "shop",
      name: "migrate",
      hookType: "PreSync",
      hookPhase,
    })),
  },
});
const made = hookObject(job, run("Running"));

test("a hook is made held, beside what holds it already, and twice is once", () => {
  expect(made.metadata.finalizers).toEqual(["a/b", HOOK_FINALIZER]);
  expect(hookObject(made, run("Running")).metadata.finalizers).toEqual(["a/b", HOOK_FINALIZER]);
  expect(job.metadata.finalizers).toEqual(["a/b"]);
});

test.each([
  ["begun, and nothing is written of it", run("Running"), true],
  ["it runs", run("Running", ["Running"]), true],
  ["it runs, and the sync is to end", run("Terminating", ["Running"]), true],
  ["it has run, and runs once more in a later phase", run("Running", ["Succeeded", "Running"]), true],
  ["it has run", run("Running", ["Succeeded"]), false],
  ["it has failed", run("Running", ["Failed"]), false],
  ["the sync is over", run("Failed", ["Running"]), false],
  ["another run goes on", run("Running", [], "2026-11-22T10:00:01Z"), false],
  ["there is no operation", undefined, false],
])("a hook is held for its operation alone: %s", (_, state, want) => {
  expect(isNeeded(made, state)).toBe(want);
});

const ended = (type: string) => ({ status: { conditions: [{ type, status: "True", message: "so it is" }] } });
const going = { ...made, metadata: { ...made.metadata, deletionTimestamp: NOW } };
const free = { ...going, metadata: { ...going.metadata, finalizers: ["a/b"] } };
test.each([
  ["works", made, "Running"],
  ["is complete", { ...made, ...ended("Complete") }, "Succeeded"],
  ["goes, and works on", going, "Running"],
  ["goes, complete", { ...going, ...ended("Complete") }, "Succeeded"],
  ["goes, failed", { ...going, ...ended("Failed") }, "Failed"],
  ["goes, and nothing of ours holds it", { ...free, ...ended("Complete") }, "Running"],
  ["says nothing of itself", { apiVersion: "v1", kind: "ConfigMap", metadata: going.metadata }, "Succeeded"],
  ["is gone", undefined, "Failed"],
])("a hook that goes is judged by what it says while it is held: one that %s", (_, live, want) => {
  expect(hookPhase(live, { of: healthOf }).phase).toBe(want);
});

test.each<[string, OperationState | undefined, string[]]>([
  ["its operation waits for it, also where the cluster has another name", run("Running", ["Running"]), []],
  ["what became of it is written down: here, as the operation goes on", run("Running", ["Succeeded"]), ["here"]],
  ["the operation is over: also where the application was before", run("Succeeded", ["Succeeded"]), ["here", "before"]],
  ["there is none", undefined, ["here", "before"]],
])("a hook is let go of where nobody needs it: %s", async (_, state, want) => {
  const released: string[] = [];
  const hook = {
    ...made,
    metadata: { ...made.metadata, annotations: { ...made.metadata.annotations, "argocd.argoproj.io/hook": "PreSync" } },
  };
  const destination = (id: string) =>
    ({
      id,
      live: { ofApp: () => new Map([["k", hook]]), put: () => undefined },
      settings: { tracking: BY_ANNOTATION },
      client: { discovery: { find: async () => done({}) } },
      writer: {
        mergePatch: async (...[, , , { metadata }]: [unknown, unknown, unknown, KubeObject]) => {
          released.push(id);
          return done({ ...hook, metadata: { ...hook.metadata, ...metadata } });
        },
      },
    }) as unknown as Destination;
  const [here, before] = [destination("here"), destination("before")];
  expect((await releaseAll([before, here], here, "shop", state)).kind).toBe("done");
  expect(released).toEqual(want);
});
