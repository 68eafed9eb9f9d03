import type { ApplicationSetSpec, ApplicationStep, StepStatus } from "../types.ts";
import { held, isReverse, isRolling, rollOut, roomOf, stepOf } from "./rollout.ts";

const [BEFORE, NOW] = ["2025-12-31T23:00:00Z", "2026-01-01T00:00:00Z"];
const step = (value: string, maxUpdate?: number | string) => ({
  matchExpressions: [{ key: "env", operator: "In", values: [value] }],
  maxUpdate,
});
const spec = (...steps: ReturnType<typeof step>[]): ApplicationSetSpec => ({
  strategy: { type: "RollingSync", rollingSync: { steps } },
});
const app = (name: string, env: string, sync = "Synced", health = "Healthy", phase?: string) => ({
  name,
  labels: { env },
  live: {
    apiVersion: "argoproj.io/v1alpha1",
    kind: "Application",
    metadata: { name },
    spec: {},
    status: {
      sync: { status: sync, revision: "r1" },
      health: { status: health },
      operationState: phase ? { phase, startedAt: NOW } : undefined,
    },
  },
});
const was = (application: string, status: StepStatus, revision = "r1"): ApplicationStep => ({
  application,
  status,
  step: "1",
  message: "",
  targetRevisions: [revision],
  lastTransitionTime: BEFORE,
});

test.each<[number | string | undefined, number, number]>([
  [undefined, 5, 5],
  [2, 5, 2],
  [0, 5, 0],
  ["10%", 5, 1],
  ["50%", 5, 2],
  ["0%", 5, 0],
  ["100%", 5, 5],
  ["10%", 0, 1],
])("with maxUpdate %s of %s applications %s change at once", (maxUpdate, all, want) => {
  expect(roomOf(maxUpdate, all)).toBe(want);
});

test.each<[Record<string, string>, number]>([
  [{ env: "a" }, 1],
  [{ env: "b" }, 2],
  [{ env: "c" }, 0],
  [{}, 0],
])("labels %j are of step %s", (labels, want) => {
  expect(stepOf(labels, [step("a"), step("b")])).toBe(want);
});

type Row = [string, Parameters<typeof rollOut>[1], ApplicationStep[], StepStatus[], string[], number | undefined];
test.each<Row>([
  [
    "the first step goes first",
    [app("a", "1", "OutOfSync"), app("b", "2", "OutOfSync")],
    [],
    ["Pending", "Waiting"],
    ["a"],
    1,
  ],
  ["what is well already is done", [app("a", "1"), app("b", "2", "OutOfSync")], [], ["Healthy", "Pending"], ["b"], 2],
  [
    "a pending one that syncs is progressing",
    [app("a", "1", "OutOfSync", "Healthy", "Running"), app("b", "2", "OutOfSync")],
    [was("a", "Pending")],
    ["Progressing", "Waiting"],
    [],
    1,
  ],
  ["a pending one is asked again", [app("a", "1", "OutOfSync")], [was("a", "Pending")], ["Pending"], ["a"], 1],
  [
    "one that has synced and is healthy is done",
    [app("a", "1", "Synced", "Healthy", "Succeeded"), app("b", "2")],
    [was("a", "Pending")],
    ["Healthy", "Healthy"],
    [],
    undefined,
  ],
  [
    "one that is not healthy holds the next step",
    [app("a", "1", "Synced", "Degraded", "Succeeded"), app("b", "2", "OutOfSync")],
    [was("a", "Progressing")],
    ["Progressing", "Waiting"],
    [],
    1,
  ],
  [
    "one whose sync fails is not asked again, and holds the next step",
    [app("a", "1", "OutOfSync", "Healthy", "Failed"), app("b", "2", "OutOfSync")],
    [was("a", "Pending")],
    ["Progressing", "Waiting"],
    [],
    1,
  ],
  [
    "one whose sync has failed goes on when somebody has synced it",
    [app("a", "1", "Synced", "Healthy", "Failed"), app("b", "2", "OutOfSync")],
    [was("a", "Progressing")],
    ["Healthy", "Pending"],
    ["b"],
    2,
  ],
  [
    "drift of a healthy one is not a new rollout",
    [app("a", "1", "OutOfSync"), app("b", "2", "OutOfSync")],
    [was("a", "Healthy"), was("b", "Healthy")],
    ["Healthy", "Healthy"],
    [],
    undefined,
  ],
  [
    "a newer revision waits for its turn",
    [app("a", "1", "OutOfSync"), app("b", "2", "OutOfSync")],
    [was("a", "Healthy", "r0"), was("b", "Healthy", "r0")],
    ["Pending", "Waiting"],
    ["a"],
    1,
  ],
  [
    "one that is synced, but not well, is not asked",
    [app("a", "1", "Synced", "Degraded"), app("b", "2")],
    [],
    ["Progressing", "Healthy"],
    [],
    1,
  ],
  ["an application of no step is not synced", [app("x", "9", "OutOfSync")], [], ["Waiting"], [], undefined],
  ["one that nobody has looked at yet is not done", [{ name: "a", labels: { env: "1" } }], [], ["Pending"], ["a"], 1],
])("%s", (_, applications, before, want, sync, running) => {
  const rollout = rollOut(spec(step("1"), step("2")), applications, before, NOW);
  expect(rollout.steps.map(({ status }) => status)).toEqual(want);
  expect([rollout.sync, rollout.running]).toEqual([sync, running]);
});

test("no more of a step change at once than may", () => {
  const many = ["a", "b", "c"].map((name) => app(name, "1", "OutOfSync"));
  expect(rollOut(spec(step("1", 2)), many, [], NOW).sync).toEqual(["a", "b"]);
  many[1] = app("b", "1", "OutOfSync", "Healthy", "Running");
  expect(rollOut(spec(step("1", 2)), many, [was("b", "Progressing")], NOW).sync).toEqual(["a"]);
  expect(rollOut(spec(step("1", 0)), many, [], NOW)).toMatchObject({ sync: [], running: 1 });
});

test("another revision begins anew, and a status of an older specification proves nothing", () => {
  expect(rollOut(spec(step("1")), [app("a", "1")], [was("a", "Healthy", "r0")], NOW).steps[0]).toMatchObject({
    status: "Healthy",
    targetRevisions: ["r1"],
  });
  const stale = app("a", "1");
  Object.assign(stale.live.status.sync, { comparedTo: { source: { path: "old" }, destination: {} } });
  stale.live.spec = { source: { path: "new" }, destination: {} };
  expect(rollOut(spec(step("1")), [stale], [was("a", "Healthy")], NOW).steps[0]).toMatchObject({ status: "Pending" });
});

test("a rollout holds an application's own automation back", () => {
  expect(
    held({ metadata: { name: "a" }, spec: { syncPolicy: { automated: { prune: true }, syncOptions: ["x"] } } }).spec,
  ).toEqual({
    syncPolicy: { automated: { prune: true, enabled: false }, syncOptions: ["x"] },
  });
  expect(held({ metadata: { name: "a" }, spec: { syncPolicy: { syncOptions: ["x"] } } }).spec).toEqual({
    syncPolicy: { syncOptions: ["x"] },
  });
  expect([isRolling(spec(step("1"))), isRolling(spec()), isRolling({})]).toEqual([true, false, false]);
});

test.each<[string | undefined, boolean]>([
  ["Reverse", true],
  ["reverse", true],
  ["REVERSE", true],
  ["AllAtOnce", false],
  ["", false],
  [undefined, false],
])("the last step goes first however Reverse is written: %s", (deletionOrder, want) => {
  expect(isReverse({ generators: [], strategy: { deletionOrder } } as never)).toBe(want);
});
