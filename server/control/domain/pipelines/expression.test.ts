import { parseCondition } from "../../../../openapi/rules/pipelines/condition.ts";
import { parseTemplate } from "../../../../openapi/rules/pipelines/expression.ts";
import { holds } from "./condition.ts";
import { resolve, Unresolved, type Values } from "./resolve.ts";

const values: Values = {
  run: "r-1",
  inputs: { tag: "v1", evil: "${secret:prod/PASSWORD}", dollar: "$", half: "${sec" },
  steps: new Map([
    [
      "build",
      { state: "Succeeded", task: "t-1", outputs: { digest: "sha256:a", list: [{ n: 7 }], flag: true, none: null } },
    ],
    ["left-out", { state: "Skipped" }],
  ]),
};

test.each([
  ["a text", "a text"],
  ["image:${inputs.tag}@${steps.build.outputs.digest}", "image:v1@sha256:a"],
  ["${run.id} ${steps.build.state} ${steps.build.task}", "r-1 Succeeded t-1"],
  ["${steps.build.outputs.list}", [{ n: 7 }]],
  ["${steps.build.outputs.list.0.n}", 7],
  ["n=${steps.build.outputs.list.0.n}", "n=7"],
  ["l=${steps.build.outputs.list}", 'l=[{"n":7}]'],
  ["${steps.build.outputs.flag}", true],
  ["${steps.left-out.state}", "Skipped"],
  // Left to others.
  ["echo ${HOME} ${X:-y.z} $(date) $$", "echo ${HOME} ${X:-y.z} $(date) $$"],
  ["${secret:env/TOKEN} $${secret:env/TOKEN}", "${secret:env/TOKEN} $${secret:env/TOKEN}"],
  ["$${inputs.tag} $${var.region} ${inputs.tag}", "${inputs.tag} ${var.region} v1"],
  ["${inputs.tag", { fault: /column 1: / }],
  ["x ${input.tag}", { fault: /column 3: \$\{input.tag\} is none of/ }],
  ["${steps.build.outcome}", { fault: /of a step there are/ }],
  ["${steps.build.outputs}", { fault: /of a step there are/ }],
  ["${run.name}", { fault: /of a run there is \$\{run.id\}/ }],
])("%j becomes %j", (template, want) => {
  const parsed = parseTemplate(template);
  if (want !== null && typeof want === "object" && "fault" in want)
    expect("fault" in parsed && parsed.fault).toMatch(want.fault);
  else expect(resolve(template, values)).toEqual(want);
});

test("texts are found at every depth, names of members are not touched", () => {
  expect(resolve({ "${inputs.tag}": [{ a: "${inputs.tag}", n: 1, no: null }] }, values)).toEqual({
    "${inputs.tag}": [{ a: "v1", n: 1, no: null }],
  });
});

test.each([
  ["${steps.build.outputs.nothing}", /has no value: step build ended as Succeeded without it/],
  ["${steps.left-out.outputs.x}", /step left-out ended as Skipped/],
  ["${steps.build.outputs.constructor}", /has no value/],
  ["${steps.build.outputs.digest.length}", /has no value/],
])("%s is refused when it has no value", (template, want) => {
  expect(() => resolve(template, values)).toThrow(Unresolved);
  expect(() => resolve(template, values)).toThrow(want);
});

describe("a value cannot bring a reference to a secret in", () => {
  test.each([
    ["${inputs.evil}", "$${secret:prod/PASSWORD}"],
    ["x ${inputs.evil}", "x $${secret:prod/PASSWORD}"],
  ])("%j becomes %j", (template, want) => {
    expect(resolve(template, values)).toBe(want);
  });
  test.each(["${inputs.dollar}{secret:prod/PASSWORD}", "${inputs.half}ret:prod/PASSWORD}"])(
    "%j is refused",
    (template) => {
      expect(() => resolve(template, values)).toThrow(/would make a reference/);
    },
  );
});

test("what values make of a task is bounded", () => {
  const large: Values = { ...values, inputs: { tag: "x".repeat(8_000) } };
  expect(() => resolve({ all: Array.from({ length: 200 }, () => "${inputs.tag}") }, large)).toThrow(
    /more than 1048576/,
  );
});

test.each([
  ["${inputs.tag} == 'v1'", true],
  ['${inputs.tag}=="v2"', false],
  ['${inputs.tag} != "v2" && ${steps.build.state} == "Succeeded"', true],
  ['"a" == "b" || "c" == "c"', true],
  // && before ||.
  ['"a" == "a" || "c" == "c" && "x" == "y"', true],
  ['"x" == "y" && "a" == "a" || "c" == "d"', false],
  ['${steps.build.outputs.flag} == "true"', true],
  ['${steps.left-out.outputs.digest} == ""', true],
  ["", { fault: /column 1: a text in quotes/ }],
  ["${inputs.tag}", { fault: /column 14: == or != is expected/ }],
  ["${inputs.tag} = 'v1'", { fault: /column 15: "= 'v1'" is not understood/ }],
  ["${inputs.tag} == v1", { fault: /column 18: "v1" is not understood/ }],
  ["'a' == 'b' &&", { fault: /column 14: a text in quotes/ }],
  ["'a' == 'b' 'c'", { fault: /column 12: && or \|\| is expected, not 'c'/ }],
  ["'a == 'b'", { fault: /is not understood|is not closed|expected/ }],
  ["'a' == \"b", { fault: /column 8: the quote " is not closed/ }],
  ["${HOME} == 'x'", { fault: /column 1: write an expression/ }],
])("condition %s is %j", (text, want) => {
  const parsed = parseCondition(text);
  if (typeof want === "object") expect("fault" in parsed && parsed.fault).toMatch(want.fault);
  else expect("condition" in parsed ? holds(parsed.condition, values) : parsed).toBe(want);
});
