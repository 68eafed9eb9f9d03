import type { PipelineSpec, PipelineStep } from "../../../../openapi/rules/pipelines/graph.ts";
import { advance, dueAt, type Move, type RunNow, type RunStep, type TaskNow } from "./advance.ts";

const BEGAN = new Date("2030-01-01T00:00:00Z");
const after = (seconds: number) => new Date(BEGAN.getTime() + seconds * 1_000);

type Given = Partial<PipelineStep> & { env?: string };
const task = (id: string, { env, ...more }: Given = {}) =>
  ({
    id,
    task: { kind: "shell.run", params: { script: "echo $X", ...(env ? { env: { X: env } } : {}) } },
    ...more,
  }) as PipelineStep;
const approval = (id: string, more: object = {}, step: Given = {}) => ({ id, approval: more, ...step }) as PipelineStep;

/** `a+ b! c- d. e~ f? g*`: succeeded, failed, skipped, cancelled, left out after a failure, waiting, running; `h` is pending. */
const SIGNS: Record<string, Partial<RunStep>> = {
  "+": { state: "Succeeded", outputs: { x: "1" } },
  "!": { state: "Failed", reason: "ExitCode", message: "exit 1" },
  "-": { state: "Skipped", reason: "ConditionFalse" },
  "~": { state: "Skipped", reason: "NeedFailed" },
  ".": { state: "Cancelled" },
  "?": { state: "Waiting", startedAt: BEGAN.toISOString() },
  "*": { state: "Running" },
};
function stepsOf(text: string): RunStep[] {
  return text.split(" ").map((word) => {
    const sign = SIGNS[word.at(-1)!];
    const id = sign ? word.slice(0, -1) : word;
    return { id, state: "Pending", ...sign, ...(sign?.state === "Running" ? { task: `t-${id}` } : {}) } as RunStep;
  });
}

interface Case {
  steps: PipelineStep[];
  at: string;
  tasks?: Record<string, TaskNow>;
  change?: Partial<RunNow>;
  decisions?: Record<string, RunStep["decisions"]>;
  seconds?: number;
  timeout?: number;
}
function moves({ steps, at, tasks = {}, change = {}, decisions = {}, seconds = 0, timeout = 3_600 }: Case): Move[] {
  const now = stepsOf(at).map((step) => ({
    ...step,
    ...(decisions[step.id] ? { decisions: decisions[step.id]! } : {}),
  })) as RunStep[];
  const run = { id: "r-1", inputs: { go: "yes" }, steps: now, createdAt: BEGAN, cancelRequested: false, ...change };
  const running = new Map(
    now.filter((s) => s.task).map((s) => [s.task!, tasks[s.id] ?? ({ state: "Running" } as TaskNow)]),
  );
  return advance({ steps, timeoutSeconds: timeout } as PipelineSpec, run, running, after(seconds));
}
/** `start b`, `skip c NeedFailed`, `finish Failed`: a move as a person says it. */
const told = (all: Move[]) =>
  all.map((m) => {
    if (m.do === "finish") return `finish ${m.state}`;
    if (m.do === "end")
      return [m.state === "Skipped" ? "skip" : m.state.toLowerCase(), m.step, m.reason].filter(Boolean).join(" ");
    return `${m.do} ${m.step}`;
  });

const chain = [task("a"), task("b"), task("c")];
const fan = [task("a"), task("b", { needs: ["a"] }), task("c", { needs: ["a"] }), task("d", { needs: ["b", "c"] })];
const clean = [
  task("a"),
  task("b"),
  task("undo", { needs: ["b"], when: "failure" }),
  task("tell", { needs: ["b", "undo"], when: "always" }),
];
const yes = (by: string) => ({ by, decision: "approved" as const, at: BEGAN.toISOString() });
const no = (by: string, comment?: string) => ({
  by,
  decision: "rejected" as const,
  at: BEGAN.toISOString(),
  ...(comment ? { comment } : {}),
});

test.each<[string, Case, string[]]>([
  // Sequence and parallel.
  ["the first step starts", { steps: chain, at: "a b c" }, ["start a"]],
  ["nothing while it runs", { steps: chain, at: "a* b c" }, []],
  ["nothing while it is queued", { steps: chain, at: "a* b c", tasks: { a: { state: "Queued" } } }, []],
  [
    "the next one follows",
    { steps: chain, at: "a* b c", tasks: { a: { state: "Succeeded" } } },
    ["succeeded a", "start b"],
  ],
  [
    "the last one ends the run",
    { steps: chain, at: "a+ b+ c*", tasks: { c: { state: "Succeeded" } } },
    ["succeeded c", "finish Succeeded"],
  ],
  [
    "an empty list of needs starts at once",
    { steps: [task("a"), task("b", { needs: [] })], at: "a b" },
    ["start a", "start b"],
  ],
  ["steps side by side", { steps: fan, at: "a+ b c d" }, ["start b", "start c"]],
  ["a step waits for all it needs", { steps: fan, at: "a+ b+ c* d" }, []],
  [
    "and starts when the last has ended",
    { steps: fan, at: "a+ b+ c* d", tasks: { c: { state: "Succeeded" } } },
    ["succeeded c", "start d"],
  ],
  // Failure.
  [
    "what follows a failure is left out",
    { steps: chain, at: "a* b c", tasks: { a: { state: "Failed", reason: "ExitCode" } } },
    ["failed a ExitCode", "skip b NeedFailed", "skip c NeedFailed", "finish Failed"],
  ],
  [
    "steps beside a failure go on",
    { steps: fan, at: "a+ b* c* d", tasks: { b: { state: "Failed" } } },
    ["failed b Failed"],
  ],
  [
    "a task out of time is a failure",
    { steps: [task("a")], at: "a*", tasks: { a: { state: "TimedOut", reason: "DeadlineExceeded" } } },
    ["failed a DeadlineExceeded", "finish Failed"],
  ],
  [
    "a task of unknown end is a failure",
    { steps: [task("a")], at: "a*", tasks: { a: { state: "Unknown", reason: "WorkerLost" } } },
    ["failed a WorkerLost", "finish Failed"],
  ],
  [
    "a task that somebody cancelled is one",
    { steps: chain, at: "a* b c", tasks: { a: { state: "Cancelled" } } },
    ["cancelled a Cancelled", "skip b NeedFailed", "skip c NeedFailed", "finish Failed"],
  ],
  // when
  ["`failure` runs after a failure", { steps: clean, at: "a+ b! undo tell" }, ["start undo"]],
  [
    "`failure` runs after a failure further up",
    { steps: clean, at: "a! b undo tell" },
    ["skip b NeedFailed", "start undo"],
  ],
  [
    "`failure` is left out without one, which counts as success",
    { steps: clean, at: "a+ b+ undo tell" },
    ["skip undo NothingFailed", "start tell"],
  ],
  ["`always` runs after a failure", { steps: clean, at: "a+ b! undo+ tell" }, ["start tell"]],
  [
    "a failure that was tidied up is still one",
    { steps: clean, at: "a+ b! undo+ tell*", tasks: { tell: { state: "Succeeded" } } },
    ["succeeded tell", "finish Failed"],
  ],
  [
    "`success` after a tidied failure runs",
    { steps: [task("a"), task("undo", { when: "failure" }), task("on")], at: "a! undo+ on" },
    ["start on"],
  ],
  // condition
  ["a condition that holds", { steps: [task("a", { condition: "${inputs.go} == 'yes'" })], at: "a" }, ["start a"]],
  [
    "a condition that does not leaves the step out",
    { steps: [task("a", { condition: "${inputs.go} != 'yes'" }), task("b")], at: "a b" },
    ["skip a ConditionFalse", "start b"],
  ],
  [
    "a condition on an output",
    { steps: [task("a"), task("b", { condition: "${steps.a.outputs.x} == '1'" })], at: "a+ b" },
    ["start b"],
  ],
  [
    "nothing left to run is a success",
    { steps: [task("a", { condition: "'a' == 'b'" })], at: "a" },
    ["skip a ConditionFalse", "finish Succeeded"],
  ],
  [
    "`when` is asked before the condition",
    { steps: [task("a"), task("b", { condition: "'a' == 'b'" })], at: "a! b" },
    ["skip b NeedFailed", "finish Failed"],
  ],
  // values
  [
    "an output that is not there fails the step",
    { steps: [task("a"), task("b", { env: "${steps.a.outputs.y}" })], at: "a+ b" },
    ["failed b UnknownOutput", "finish Failed"],
  ],
  [
    "parameters are checked again with their values",
    {
      steps: [
        task("a"),
        { id: "b", task: { kind: "git.clone", params: { url: "${steps.a.outputs.x}" } } } as PipelineStep,
      ],
      at: "a+ b",
    },
    ["failed b InvalidParameters", "finish Failed"],
  ],
  // approval
  ["an approval waits", { steps: [task("a"), approval("ok"), task("b")], at: "a+ ok b" }, ["wait ok"]],
  ["and goes on waiting", { steps: [approval("ok"), task("b")], at: "ok? b" }, []],
  [
    "one approval is enough",
    { steps: [approval("ok"), task("b")], at: "ok? b", decisions: { ok: [yes("k1")] } },
    ["succeeded ok", "start b"],
  ],
  [
    "unless more are asked for",
    { steps: [approval("ok", { minimum: 2 }), task("b")], at: "ok? b", decisions: { ok: [yes("k1")] } },
    [],
  ],
  [
    "two of two",
    { steps: [approval("ok", { minimum: 2 }), task("b")], at: "ok? b", decisions: { ok: [yes("k1"), yes("k2")] } },
    ["succeeded ok", "start b"],
  ],
  [
    "a rejection ends it",
    { steps: [approval("ok", { minimum: 2 }), task("b")], at: "ok? b", decisions: { ok: [yes("k1"), no("k2")] } },
    ["failed ok Rejected", "skip b NeedFailed", "finish Failed"],
  ],
  [
    "nobody in time",
    { steps: [approval("ok", { timeoutSeconds: 60 }), task("b")], at: "ok? b", seconds: 60 },
    ["failed ok ApprovalTimedOut", "skip b NeedFailed", "finish Failed"],
  ],
  ["a second before", { steps: [approval("ok", { timeoutSeconds: 60 }), task("b")], at: "ok? b", seconds: 59 }, []],
  // cancel and time
  [
    "cancel asks what runs to end, and lets nothing begin",
    { steps: fan, at: "a+ b* c d", change: { cancelRequested: true } },
    ["cancel b", "cancelled c RunCancelled", "cancelled d RunCancelled"],
  ],
  [
    "the run is cancelled when its tasks have ended",
    {
      steps: fan,
      at: "a+ b* c. d.",
      change: { cancelRequested: true },
      tasks: { b: { state: "Cancelled", reason: "Cancelled" } },
    },
    ["cancelled b Cancelled", "finish Cancelled"],
  ],
  [
    "cancel ends an approval",
    { steps: [approval("ok"), task("b", { when: "always" })], at: "ok? b", change: { cancelRequested: true } },
    ["cancelled ok RunCancelled", "cancelled b RunCancelled", "finish Cancelled"],
  ],
  ["out of time", { steps: chain, at: "a+ b* c", seconds: 60, timeout: 60 }, ["cancel b", "cancelled c RunTimedOut"]],
  [
    "out of time, when all has ended",
    { steps: chain, at: "a+ b* c.", seconds: 61, timeout: 60, tasks: { b: { state: "Cancelled" } } },
    ["cancelled b Cancelled", "finish TimedOut"],
  ],
])("%s", (_, given, want) => {
  expect(told(moves(given))).toEqual(want);
});

test("a task that is gone ends its step instead of leaving the run for ever", () => {
  const run = { id: "r-1", inputs: {}, steps: stepsOf("a*"), createdAt: BEGAN, cancelRequested: false };
  expect(told(advance({ steps: [task("a")] } as PipelineSpec, run, new Map(), BEGAN))).toEqual([
    "failed a TaskGone",
    "finish Failed",
  ]);
});

test("a script is taken as it stands; values come to it in its environment", () => {
  const step = {
    id: "b",
    task: { kind: "shell.run", params: { script: "echo ${a.b} $${inputs} $X", env: { X: "${inputs.go}" } } },
  } as unknown as PipelineStep;
  expect(moves({ steps: [step], at: "b" })).toMatchObject([
    { do: "start", request: { params: { script: "echo ${a.b} $${inputs} $X", env: { X: "yes" } } } },
  ]);
});

test("a step's task has the values, and the types that its kind wants", () => {
  const merge = (number: string) =>
    ({
      id: "m",
      task: {
        kind: "gitops.mergePR",
        name: "merge ${inputs.go}",
        params: {
          provider: { type: "gitea", repository: "a/b", token: "${secret:env/T}" },
          number,
          deleteBranch: "${steps.a.outputs.no}",
        },
      },
    }) as unknown as PipelineStep;
  const at = stepsOf("a+ m");
  at[0]!.outputs = { number: "12", no: "false" };
  const run = { id: "r-1", inputs: { go: "yes" }, steps: at, createdAt: BEGAN, cancelRequested: false };
  const [move] = advance(
    { steps: [task("a"), merge("${steps.a.outputs.number}")] } as PipelineSpec,
    run,
    new Map(),
    BEGAN,
  );
  expect(move).toEqual({
    do: "start",
    step: "m",
    request: {
      kind: "gitops.mergePR",
      name: "merge yes",
      params: {
        provider: { type: "gitea", repository: "a/b", token: "${secret:env/T}" },
        number: 12,
        deleteBranch: false,
      },
    },
  });
});

test("an approval's message has its values; a rejection's comment is the step's message", () => {
  expect(
    moves({ steps: [task("a"), approval("ok", { message: "Deploy ${steps.a.outputs.x}?" })], at: "a+ ok" }),
  ).toEqual([{ do: "wait", step: "ok", message: "Deploy 1?" }]);
  expect(
    moves({ steps: [approval("ok")], at: "ok?", decisions: { ok: [no("key:me", "not on Friday")] } })[0],
  ).toMatchObject({
    message: "Rejected by key:me: not on Friday",
  });
});

test("a run is looked at by its end of time or that of an approval, whichever is first", () => {
  const spec = { steps: [approval("ok", { timeoutSeconds: 60 })], timeoutSeconds: 3_600 } as PipelineSpec;
  expect(dueAt(spec, { createdAt: BEGAN, steps: stepsOf("ok") })).toEqual(after(3_600));
  expect(dueAt(spec, { createdAt: BEGAN, steps: stepsOf("ok?") })).toEqual(after(60));
});
