import type { PipelineSpec, PipelineStep } from "../../../../openapi/rules/pipelines/graph.ts";
import { checkPipeline } from "./check.ts";
import { inputsOf } from "./inputs.ts";

const run = (id: string, { env, ...more }: Partial<PipelineStep> & { env?: string } = {}): PipelineStep =>
  ({
    id,
    task: { kind: "shell.run", params: { script: "echo $X ${HOME}", ...(env ? { env: { X: env } } : {}) } },
    ...more,
  }) as PipelineStep;
const spec = (steps: PipelineStep[], more: Partial<PipelineSpec> = {}) => ({ steps, ...more }) as PipelineSpec;
const image = (params: Record<string, unknown>): PipelineStep =>
  ({ id: "push", needs: ["build"], task: { kind: "image.push", params } }) as PipelineStep;

test.each([
  ["one step", spec([run("a")])],
  ["steps in sequence that pass values on", spec([run("a"), run("b", { env: "echo ${steps.a.outputs.x} ${HOME}" })])],
  [
    "a value in the place of a list",
    spec([
      run("a"),
      {
        id: "b",
        task: {
          kind: "gitops.updateReleaseRepo",
          params: {
            provider: { type: "gitea", repository: "a/b", token: "${secret:env/T}" },
            baseBranch: "main",
            files: "${steps.a.outputs.files}",
          },
        },
      } as unknown as PipelineStep,
    ]),
  ],
  ["a value of a step further up", spec([run("a"), run("b"), run("c", { env: "${steps.a.state}" })])],
  [
    "an artefact of another step",
    spec([
      run("build"),
      image({ artifact: { task: "${steps.build.task}", name: "image.tar" }, to: ["registry.test/app:${run.id}"] }),
    ]),
  ],
  [
    "a number to come",
    spec([
      run("build"),
      image({ artifact: { task: "${steps.build.task}", name: "i" }, to: ["${steps.build.outputs.ref}"] }),
    ]),
  ],
  [
    "an approval with values in its message",
    spec([run("a"), { id: "ok", approval: { message: "Deploy ${steps.a.outputs.x}?" } } as PipelineStep]),
  ],
  [
    "a secret for the delegate",
    spec([
      {
        id: "a",
        task: { kind: "git.clone", params: { url: "https://h/x", password: "${secret:env/P}" } },
      } as PipelineStep,
    ]),
  ],
])("%s is fine", (_, given) => {
  expect(checkPipeline(given)).toEqual([]);
});

test.each<[string, PipelineSpec, string, RegExp]>([
  ["two steps of one id", spec([run("a"), run("a")]), "/spec/steps/1/id", /a step `a` already/],
  [
    "an unknown need",
    spec([run("build"), run("b", { needs: ["biuld"] })]),
    "/spec/steps/1/needs/0",
    /no step `biuld`. Did you mean `build`\?/,
  ],
  ["a circle", spec([run("a", { needs: ["b"] }), run("b", { needs: ["a"] })]), "/spec/steps/0/needs", /a → b → a/],
  ["a step that needs itself", spec([run("a", { needs: ["a"] })]), "/spec/steps/0/needs", /a → a/],
  ["neither task nor approval", spec([{ id: "a" } as PipelineStep]), "/spec/steps/0", /exactly one/],
  ["task and approval", spec([run("a", { approval: {} as never })]), "/spec/steps/0/approval", /exactly one/],
  [
    "an unknown input",
    spec([run("a", { env: "${inputs.tga}" })], { inputs: { tag: {} } }),
    "/spec/steps/0/task/params/env/X",
    /no input `tga`. Did you mean `tag`\?/,
  ],
  [
    "an unknown step",
    spec([run("a", { env: "${steps.b.state}" })]),
    "/spec/steps/0/task/params/env/X",
    /Column 1: there is no step `b`/,
  ],
  [
    "a step beside",
    spec([run("a", { needs: [] }), run("b", { needs: [], env: "x ${steps.a.state}" })]),
    "/spec/steps/1/task/params/env/X",
    /Column 3: `a` need not have ended/,
  ],
  ["itself", spec([run("a", { env: "${steps.a.state}" })]), "/spec/steps/0/task/params/env/X", /need not have ended/],
  [
    "outputs of an approval",
    spec([{ id: "ok", approval: {} } as PipelineStep, run("b", { env: "${steps.ok.outputs.x}" })]),
    "/spec/steps/1/task/params/env/X",
    /is an approval/,
  ],
  [
    "a broken condition",
    spec([run("a", { condition: "${inputs.x} = 'y'" })]),
    "/spec/steps/0/condition",
    /at column 13/,
  ],
  [
    "a condition on nothing",
    spec([run("a", { condition: "${inputs.x} == 'y'" })]),
    "/spec/steps/0/condition",
    /no input `x`/,
  ],
  [
    "an expression of no kind",
    spec([run("a", { env: "a ${var.region}" })]),
    "/spec/steps/0/task/params/env/X",
    /column 3.*\$\$\{var.region\}/,
  ],
  [
    "a parameter that the kind does not have",
    spec([{ id: "a", task: { kind: "shell.run", params: { script: "x", "a/b": 1 } } } as PipelineStep]),
    "/spec/steps/0/task/params/a~1b",
    /There is no `a\/b` of shell.run/,
  ],
  [
    "a value in a script",
    spec([
      run("a"),
      { id: "b", task: { kind: "shell.run", params: { script: "echo ${steps.a.outputs.x}" } } } as PipelineStep,
    ]),
    "/spec/steps/1/task/params/script",
    /become a command.*`env`/,
  ],
  [
    "fields of a kind that do not go together",
    spec([{ id: "a", task: { kind: "kubernetes.apply", params: { path: "x" } } } as PipelineStep]),
    "/spec/steps/0/task/params/manifests",
    /Give one of/,
  ],
  [
    "a missing parameter",
    spec([{ id: "a", task: { kind: "shell.run", params: {} } } as PipelineStep]),
    "/spec/steps/0/task/params/script",
    /shell.run needs `script`/,
  ],
  [
    "a value that is wrong without any expression",
    spec([run("build"), image({ artifact: { task: "build", name: "i" }, to: ["x"] })]),
    "/spec/steps/1/task/params/artifact/task",
    /the id of a task/,
  ],
  [
    "a broken pattern",
    spec([run("a")], { inputs: { x: { pattern: "[" } } }),
    "/spec/inputs/x/pattern",
    /not a regular expression/,
  ],
  [
    "a default that does not fit",
    spec([run("a")], { inputs: { x: { pattern: "v.*", default: "1" } } }),
    "/spec/inputs/x/default",
    /does not fit/,
  ],
])("%s is told with its place", (_, given, pointer, detail) => {
  const faults = checkPipeline(given);
  expect(faults[0]?.pointer).toBe(pointer);
  expect(faults[0]?.detail).toMatch(detail);
});

describe("inputs of a run", () => {
  const inputs = { tag: { pattern: "v[0-9]+" }, env: { default: "dev" } };
  test.each([
    [{ tag: "v1" }, { tag: "v1", env: "dev" }],
    [
      { tag: "v1", env: "" },
      { tag: "v1", env: "" },
    ],
  ])("%j gives %j", (given, want) => {
    expect(inputsOf(spec([], { inputs }), given as Record<string, string>)).toEqual(want);
  });
  test.each([
    [{}, "/inputs/tag", /needs the input/],
    [{ tag: "1" }, "/inputs/tag", /must fit v\[0-9\]\+/],
    [{ tag: "v1", toString: "x" }, "/inputs/toString", /has no input/],
  ])("%j is refused", (given, pointer, detail) => {
    expect(() => inputsOf(spec([], { inputs }), given as Record<string, string>)).toThrow(
      expect.objectContaining({ message: expect.stringMatching(detail), details: { pointer } }),
    );
  });
});
