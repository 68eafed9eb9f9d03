import { done, stop } from "../../../base/outcome.ts";
import { HOOK_FINALIZER, healthOf } from "../../../kube/health/health.ts";
import type { KubeObject } from "../../../kube/object.ts";
import type { OperationPhase, OperationState } from "../application.ts";
import type { Destination } from "../destination.ts";
import { BY_ANNOTATION } from "../tracking.ts";
import { hookObject, hookPhase, inTheWay, isNeeded, release, releaseAll } from "./hooks.ts";

const NOW = "2026-11-22T10:00:00Z";
const job: KubeObject = {
  apiVersion: "batch/v1",
  kind: "Job",
  metadata: { name: "migrate", namespace: "shop", finalizers: ["a/b"] },
};
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
const made = hookObject(job, run("Running"), "PreSync");

test("a hook is made held, beside what holds it already, and twice is once", () => {
  expect(made.metadata.finalizers).toEqual(["a/b", HOOK_FINALIZER]);
  expect(hookObject(made, run("Running"), "PreSync").metadata.finalizers).toEqual(["a/b", HOOK_FINALIZER]);
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

const twice = { ...job, metadata: { ...job.metadata, annotations: { "argocd.argoproj.io/hook": "PreSync,PostSync" } } };
const first = hookObject(twice, run("Running"), "PreSync");
const second = hookObject(twice, run("Running"), "PostSync");

test.each<[string, KubeObject, OperationState, string[], string]>([
  ["this run's own", second, run("Running", ["Succeeded"]), ["BeforeHookCreation"], "itself"],
  [
    "an earlier phase's, whose end is not written",
    first,
    run("Running", ["Running"]),
    ["BeforeHookCreation"],
    "unwritten",
  ],
  ["an earlier phase's, of which nothing is written", first, run("Running"), ["BeforeHookCreation"], "unwritten"],
  ["an earlier phase's, whose end is written", first, run("Running", ["Succeeded"]), ["BeforeHookCreation"], "old"],
  [
    "an earlier phase's, which is not to be re-created",
    first,
    run("Running", ["Succeeded"]),
    ["HookSucceeded"],
    "itself",
  ],
  ["an earlier run's", first, run("Running", [], "2026-11-22T10:00:01Z"), ["BeforeHookCreation"], "old"],
  [
    "an earlier run's, which is not to be re-created",
    first,
    run("Running", [], "2026-11-22T10:00:01Z"),
    ["HookSucceeded"],
    "",
  ],
  ["one of a controller that told no phases", made, run("Running", ["Succeeded"]), ["BeforeHookCreation"], "itself"],
])("a hook of two phases runs in each: in its way is %s", (_, live, state, policies, want) => {
  expect(inTheWay(live, state, "PostSync", policies)).toBe(want);
});

test("a hook of two phases is held for the phase that it runs in", () => {
  expect(isNeeded(first, run("Running", ["Succeeded"]))).toBe(false);
  expect(isNeeded(second, run("Running", ["Succeeded"]))).toBe(true);
  expect(isNeeded(made, run("Running", ["Succeeded"]))).toBe(false);
});

test.each([
  ["may write it", [], "account"],
  ["may not write it", ["account"], "account agent"],
  ["and the agent may not", ["account", "agent"], "account agent, and it is said"],
])("a hook is let go of as the account that made it, or as the agent: the account %s", async (_, forbidden, want) => {
  const asked: string[] = [];
  const client = (name: string) => ({
    discovery: { find: async () => done({}) },
    mergePatch: async (...[, , , { metadata }]: [unknown, unknown, unknown, KubeObject]) => {
      asked.push(name);
      return forbidden.includes(name)
        ? stop("Forbidden", "no")
        : done({ ...made, metadata: { ...made.metadata, ...metadata } });
    },
  });
  const live = { put: () => undefined, remove: () => undefined };
  const at = { client: client("agent"), writer: client("account"), live } as unknown as Destination;
  const outcome = await release(at, made, "shop");
  expect(asked.join(" ") + (outcome.kind === "done" ? "" : ", and it is said")).toBe(want);
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
