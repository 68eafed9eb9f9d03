import type { PipelineSpec, PipelineStep } from "../../../../openapi/rules/pipelines/graph.ts";
import { advance, type RunStep, type TaskNow } from "./advance.ts";
import { checkPipeline } from "./check.ts";
import { gatesOf, weakenedBy } from "./weakened.ts";

const task = (id: string, more: object = {}) =>
  ({ id, task: { kind: "shell.run", params: { script: id } }, ...more }) as PipelineStep;
const gate = (id: string, more: object = {}, step: object = {}) =>
  ({ id, approval: { role: "admin", ...more }, ...step }) as PipelineStep;
const pipeline = (...steps: PipelineStep[]): PipelineSpec => ({ steps });
const OLD = pipeline(task("build"), gate("go", { message: "Ship it?", minimum: 2 }), task("deploy"), task("notify"));

test.each<[name: string, after: PipelineSpec | undefined, pointer: string | undefined]>([
  ["nothing is changed", OLD, undefined],
  [
    "a task behind it is changed",
    pipeline(...OLD.steps.slice(0, 2), task("deploy", { name: "x" }), task("notify")),
    undefined,
  ],
  ["a task is added behind it", pipeline(...OLD.steps, task("more")), undefined],
  [
    "more approvers are asked for",
    pipeline(task("build"), gate("go", { message: "Ship it?", minimum: 3 }), task("deploy")),
    undefined,
  ],
  [
    "its timeout",
    pipeline(task("build"), gate("go", { message: "Ship it?", minimum: 2, timeoutSeconds: 5 }), task("deploy")),
    undefined,
  ],
  ["the pipeline is deleted", undefined, ""],
  ["it is removed", pipeline(task("build"), task("deploy")), "/spec/steps"],
  [
    "it is renamed",
    pipeline(task("build"), gate("went", { message: "Ship it?", minimum: 2 }), task("deploy")),
    "/spec/steps",
  ],
  ["it becomes a task", pipeline(task("build"), task("go"), task("deploy")), "/spec/steps/1"],
  [
    "its role",
    pipeline(task("build"), gate("go", { role: "editor", message: "Ship it?", minimum: 2 })),
    "/spec/steps/1/approval/role",
  ],
  ["its minimum", pipeline(task("build"), gate("go", { message: "Ship it?" })), "/spec/steps/1/approval/minimum"],
  [
    "its message",
    pipeline(task("build"), gate("go", { message: "Nothing", minimum: 2 })),
    "/spec/steps/1/approval/message",
  ],
  [
    "a condition that never holds",
    pipeline(
      task("build"),
      gate("go", { message: "Ship it?", minimum: 2 }, { condition: "'a' == 'b'" }),
      task("deploy"),
    ),
    "/spec/steps/1/condition",
  ],
  [
    "it runs after failures only",
    pipeline(task("build"), gate("go", { message: "Ship it?", minimum: 2 }, { when: "failure" }), task("deploy")),
    "/spec/steps/1/when",
  ],
  [
    "it comes before what it came after",
    pipeline(gate("go", { message: "Ship it?", minimum: 2 }), task("build")),
    "/spec/steps/0/needs",
  ],
  [
    "the task needs it no more",
    pipeline(task("build"), gate("go", { message: "Ship it?", minimum: 2 }), task("deploy", { needs: ["build"] })),
    "/spec/steps/2",
  ],
  [
    "the task runs after a rejection too",
    pipeline(task("build"), gate("go", { message: "Ship it?", minimum: 2 }), task("deploy", { when: "always" })),
    "/spec/steps/2",
  ],
  [
    "the task comes first",
    pipeline(task("deploy"), task("build"), gate("go", { message: "Ship it?", minimum: 2 })),
    "/spec/steps/0",
  ],
  [
    "a step between runs in any case",
    pipeline(
      task("build"),
      gate("go", { message: "Ship it?", minimum: 2 }),
      task("deploy"),
      task("notify", { needs: ["build"] }),
    ),
    "/spec/steps/3",
  ],
])("a strict approval: %s", (_, after, pointer) => {
  expect(weakenedBy(OLD, after)[0]?.pointer).toBe(pointer);
});

test("what its condition reads may not be changed either", () => {
  const conditional = (script: string, standard: string): PipelineSpec => ({
    inputs: { env: { default: standard } },
    steps: [
      task("build", { task: { kind: "shell.run", params: { script } } }),
      gate("go", {}, { condition: "${inputs.env} == 'prod' && ${steps.build.outputs.risky} == 'yes'" }),
      task("deploy"),
    ],
  });
  const before = conditional("a", "prod");
  expect(weakenedBy(before, conditional("a", "prod"))).toEqual([]);
  expect(weakenedBy(before, conditional("a", "test"))[0]).toMatchObject({ pointer: "/spec/inputs/env" });
  expect(weakenedBy(before, conditional("b", "prod"))[0]).toMatchObject({ pointer: "/spec/steps" });
});

test("an approval that one editor can give is not kept", () => {
  const soft = pipeline(gate("go", { role: "editor" }), task("deploy"));
  expect(weakenedBy(soft, pipeline(task("deploy")))).toEqual([]);
  for (const strict of [{ minimum: 2 }, { excludeRequester: true }])
    expect(weakenedBy(pipeline(gate("go", { role: "editor", ...strict })), pipeline(task("deploy")))).toHaveLength(1);
});

/** Whether a task can start without any approval: every approval is rejected, and every mixture of tasks that succeed or fail is tried. */
function startsRejected(spec: PipelineSpec, approval: string, wanted: string): boolean {
  const tasks = spec.steps.filter((s) => s.task).map((s) => s.id);
  for (let mix = 0; mix < 2 ** tasks.length; mix++) {
    const states = new Map<string, TaskNow>(
      tasks.map((id, i) => [id, { state: mix & (2 ** i) ? "Failed" : "Succeeded" }]),
    );
    let steps: RunStep[] = spec.steps.map(({ id }) => ({ id, state: "Pending" }));
    for (let round = 0; round <= spec.steps.length * 2; round++) {
      const run = { id: "r", inputs: {}, steps, createdAt: new Date(0), cancelRequested: false };
      for (const move of advance(spec, run, states, new Date(1_000))) {
        if (move.do === "start" && move.step === wanted) return true;
        steps = steps.map((step) => {
          if (!("step" in move) || move.step !== step.id) return step;
          if (move.do === "start") return { ...step, state: "Running", task: step.id };
          const decisions = [
            { by: "a", decision: step.id === approval ? ("rejected" as const) : ("approved" as const), at: "" },
          ];
          if (move.do === "wait") return { ...step, state: "Waiting", decisions };
          return move.do === "end" ? { ...step, state: move.state, reason: move.reason } : step;
        }) as RunStep[];
      }
    }
  }
  return false;
}

// A small generator of numbers, so that a failure can be repeated.
function dice(seed: number) {
  let at = seed;
  return (n: number) => {
    at = (Math.imul(at, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((at / 2 ** 32) * n);
  };
}

type Roll = (n: number) => number;
const IDS = ["a", "b", "c", "d", "e"];
function someSpec(roll: Roll): PipelineSpec {
  const count = 2 + roll(4);
  const steps = IDS.slice(0, count).map((id, i) => {
    const needs = roll(3) === 0 ? undefined : IDS.slice(0, i).filter(() => roll(2) === 0);
    const when = roll(5) === 0 ? (["always", "failure"] as const)[roll(2)] : undefined;
    const more = { ...(needs ? { needs } : {}), ...(when ? { when } : {}) };
    return roll(3) === 0 ? gate(id, {}, more) : task(id, more);
  });
  return { steps };
}

const EDITS: ((spec: PipelineSpec, roll: Roll) => PipelineSpec)[] = [
  ({ steps }, roll) => ({ steps: steps.filter((_, i) => i !== roll(steps.length)) }),
  ({ steps }, roll) => {
    const moved = [...steps];
    const [one] = moved.splice(roll(moved.length), 1);
    moved.splice(roll(moved.length + 1), 0, one!);
    return { steps: moved };
  },
  ({ steps }, roll) => {
    const at = roll(steps.length);
    const needs = steps.filter((_, i) => i !== at && roll(2) === 0).map((s) => s.id);
    return { steps: steps.map((s, i) => (i === at ? { ...s, needs } : s)) };
  },
  ({ steps }, roll) => {
    const at = roll(steps.length);
    const when = (["success", "failure", "always"] as const)[roll(3)]!;
    return { steps: steps.map((s, i) => (i === at ? { ...s, when } : s)) };
  },
  ({ steps }, roll) => {
    const at = roll(steps.length + 1);
    return {
      steps: [...steps.slice(0, at), roll(2) ? task("new") : gate("new", { role: "editor" }), ...steps.slice(at)],
    };
  },
  ({ steps }, roll) => {
    const at = roll(steps.length);
    const other = (s: (typeof steps)[number]) => (s.task ? gate(s.id) : task(s.id));
    return { steps: steps.map((s, i) => (i === at ? other(s) : s)) };
  },
];

test("a change of a pipeline with countless ways through it is judged at once", () => {
  const layers = Array.from({ length: 18 }, (_, i) =>
    ["a", "b"].map((side) => task(`${side}${i}`, { needs: i === 0 ? ["go"] : [`a${i - 1}`, `b${i - 1}`] })),
  );
  const woven = pipeline(gate("go"), ...layers.flat());
  const started = performance.now();
  expect(weakenedBy(woven, woven)).toEqual([]);
  expect(performance.now() - started).toBeLessThan(1_000);
});

test("over thousands of pipelines and edits: what is accepted from an editor lets no task start without its old approvals", () => {
  const roll = dice(7);
  let [accepted, refused] = [0, 0];
  for (let n = 0; n < 3_000; n++) {
    const before = someSpec(roll);
    let after = before;
    for (let edits = 1 + roll(3); edits > 0 && after.steps.length > 0; edits--)
      after = EDITS[roll(EDITS.length)]!(after, roll);
    if (after.steps.length === 0 || checkPipeline(before).length > 0 || checkPipeline(after).length > 0) continue;
    const strict = before.steps.filter((s) => s.approval).map((s) => s.id);
    if (weakenedBy(before, after).length > 0) {
      refused++;
      continue;
    }
    accepted++;
    for (const approval of strict) {
      expect(after.steps.find((s) => s.id === approval)?.approval).toEqual({ role: "admin" });
      for (const { id, task: runs } of after.steps) {
        const old = before.steps.findIndex((s) => s.id === id);
        if (!runs || !before.steps[old]?.task || startsRejected(before, approval, id)) continue;
        // What could not start in the old pipeline cannot start in the new one, as long as it had a path through the approval.
        if (gatesOf(before, old).has(approval))
          expect([approval, id, startsRejected(after, approval, id)]).toEqual([approval, id, false]);
      }
    }
  }
  expect(accepted).toBeGreaterThan(100);
  expect(refused).toBeGreaterThan(100);
}, 60_000);
