import { type Fault, step as segment } from "../fault.ts";
import { didYouMean } from "../suggest.ts";
import { paramFaults } from "../tasks/params.ts";
import { expressionsIn, parseCondition } from "./condition.ts";
import { type Expression, expressionsOf, parseTemplate, splitParams } from "./expression.ts";
import { ancestorsOf, findCycle, needsOf, type PipelineSpec, type PipelineStep } from "./graph.ts";
import { inputFaults } from "./inputs.ts";

/** Errors in the order of a pipeline, in its conditions and in the names in its texts. */
export function pipelineFaults(spec: PipelineSpec): Fault[] {
  return [...inputFaults(spec), ...checkOrder(spec), ...spec.steps.flatMap((step, i) => checkStep(spec, step, i))];
}

/** Parameters that do not fit the kinds of the steps, whose texts may get values later. */
export function stepParamFaults(spec: PipelineSpec): Fault[] {
  return spec.steps.flatMap(({ task, approval }, i) =>
    task?.params && !approval
      ? paramFaults(task.kind, task.params, hasExpression).map(({ pointer, detail }) => ({
          pointer: `/steps/${i}/task/params${pointer}`,
          detail,
        }))
      : [],
  );
}

/** Whether a text gets a value when the step starts. */
export const hasExpression = (text: string): boolean => expressionsOf(text).length > 0;

function checkOrder(spec: PipelineSpec): Fault[] {
  const faults: Fault[] = [];
  const seen = new Set<string>();
  const known = new Set(spec.steps.map((step) => step.id));
  spec.steps.forEach((step, i) => {
    if (seen.has(step.id))
      faults.push({ pointer: `/steps/${i}/id`, detail: `There is a step \`${step.id}\` already.` });
    seen.add(step.id);
    step.needs?.forEach((need, j) => {
      if (!known.has(need))
        faults.push({
          pointer: `/steps/${i}/needs/${j}`,
          detail: `There is no step \`${need}\`.${didYouMean(need, [...known])}`,
        });
    });
  });
  if (faults.length > 0) return faults;
  const circle = findCycle(spec);
  return circle
    ? [{ pointer: `/steps/${circle.index}/needs`, detail: `The steps wait for each other: ${circle.text}.` }]
    : [];
}

function checkStep(spec: PipelineSpec, step: PipelineStep, index: number): Fault[] {
  const at = `/steps/${index}`;
  if (!step.task === !step.approval)
    return [
      { pointer: step.task ? `${at}/approval` : at, detail: "Give a step exactly one of `task` and `approval`." },
    ];
  const check = checker(spec, index);
  const faults: Fault[] = [];
  if (step.condition !== undefined) {
    const parsed = parseCondition(step.condition);
    if ("fault" in parsed)
      faults.push({ pointer: `${at}/condition`, detail: `The condition is not understood at ${parsed.fault}.` });
    else faults.push(...expressionsIn(parsed.condition).flatMap((e) => check(e, `${at}/condition`)));
  }
  for (const [text, pointer] of textsOf(step, at)) {
    const parsed = parseTemplate(text);
    if ("fault" in parsed) faults.push({ pointer, detail: `The text is not understood at ${parsed.fault}.` });
    else faults.push(...parsed.pieces.flatMap((piece) => (typeof piece === "string" ? [] : check(piece, pointer))));
  }
  if (step.task) {
    const { script } = splitParams(step.task.kind, step.task.params ?? {}).fixed as { script?: unknown };
    if (typeof script === "string" && expressionsOf(script).length > 0)
      faults.push({
        pointer: `${at}/task/params/script`,
        detail:
          "A script is not changed, so that no value can become a command: give the value in `env` and use the variable.",
      });
  }
  return faults;
}

/** The texts of a step in which expressions are looked for. */
function textsOf({ task, approval }: PipelineStep, at: string): [text: string, pointer: string][] {
  if (!task) return textsIn(approval?.message, `${at}/approval/message`);
  return [
    ...textsIn(splitParams(task.kind, task.params ?? {}).templates, `${at}/task/params`),
    ...textsIn(task.name, `${at}/task/name`),
  ];
}

/** Checks what an expression of one step names. */
function checker(spec: PipelineSpec, index: number) {
  const ancestors = ancestorsOf(spec, index);
  const byId = new Map(spec.steps.map((step) => [step.id, step]));
  return (e: Expression, pointer: string): Fault[] => {
    const fault = (detail: string) => [{ pointer, detail: `Column ${e.at + 1}: ${detail}` }];
    if (e.of === "input") {
      const inputs = new Set(Object.keys(spec.inputs ?? {}));
      return inputs.has(e.name) ? [] : fault(`there is no input \`${e.name}\`.${didYouMean(e.name, [...inputs])}`);
    }
    if (e.of === "run") return [];
    const named = byId.get(e.step);
    if (!named) return fault(`there is no step \`${e.step}\`.${didYouMean(e.step, [...byId.keys()])}`);
    if (!ancestors.has(e.step))
      return fault(
        `\`${e.step}\` need not have ended when this step starts: add it to \`needs\` (now ${list(needsOf(spec, index))}).`,
      );
    if (named.approval && e.field !== "state") return fault(`\`${e.step}\` is an approval, which has a state only.`);
    return [];
  };
}

function textsIn(value: unknown, pointer: string): [text: string, pointer: string][] {
  if (typeof value === "string") return [[value, pointer]];
  if (value === null || typeof value !== "object") return [];
  return Object.entries(value).flatMap(([name, member]) => textsIn(member, `${pointer}${segment(name)}`));
}

const list = (ids: readonly string[]) => (ids.length ? ids.map((id) => `\`${id}\``).join(", ") : "none");
