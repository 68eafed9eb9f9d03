import { escapePointer } from "../../../base/json.ts";
import { patternMatcher } from "../../../base/pattern.ts";
import { expressionsIn, parseCondition } from "./condition.ts";
import { type Expression, expressionsOf, parseTemplate, splitParams } from "./expression.ts";
import { ancestorsOf, findCycle, needsOf, type PipelineSpec, type PipelineStep } from "./graph.ts";
import { paramFaults } from "./params.ts";

/** Something in a pipeline that could never work. */
export interface PipelineFault {
  pointer: string;
  detail: string;
}

/** Everything that is wrong with a pipeline and can be known before it runs, in the order of its text. */
export function checkPipeline(spec: PipelineSpec): PipelineFault[] {
  return [...checkInputs(spec), ...checkOrder(spec), ...spec.steps.flatMap((step, i) => checkStep(spec, step, i))];
}

function checkInputs({ inputs = {} }: PipelineSpec): PipelineFault[] {
  const fitsPattern = patternMatcher();
  return Object.entries(inputs).flatMap(([name, input]) => {
    if (input.pattern === undefined) return [];
    const at = `/spec/inputs/${escapePointer(name)}`;
    const fits = fitsPattern(input.pattern, input.default ?? "");
    if (fits === "invalid") return [{ pointer: `${at}/pattern`, detail: "This is no regular expression that JavaScript knows." }];
    if (input.default === undefined) return [];
    if (fits === "slow") return [{ pointer: `${at}/pattern`, detail: "Matching the default takes too long: avoid nested repetition." }];
    return fits ? [] : [{ pointer: `${at}/default`, detail: "The default does not fit `pattern`." }];
  });
}

function checkOrder(spec: PipelineSpec): PipelineFault[] {
  const faults: PipelineFault[] = [];
  const seen = new Set<string>();
  const known = new Set(spec.steps.map((step) => step.id));
  spec.steps.forEach((step, i) => {
    if (seen.has(step.id)) faults.push({ pointer: `/spec/steps/${i}/id`, detail: `There is a step \`${step.id}\` already.` });
    seen.add(step.id);
    step.needs?.forEach((need, j) => {
      if (!known.has(need))
        faults.push({ pointer: `/spec/steps/${i}/needs/${j}`, detail: `There is no step \`${need}\`${meant(need, known)}.` });
    });
  });
  if (faults.length > 0) return faults;
  const circle = findCycle(spec);
  return circle ? [{ pointer: `/spec/steps/${circle.index}/needs`, detail: `The steps wait for each other: ${circle.text}.` }] : [];
}

function checkStep(spec: PipelineSpec, step: PipelineStep, index: number): PipelineFault[] {
  const at = `/spec/steps/${index}`;
  if (!step.task === !step.approval)
    return [{ pointer: step.task ? `${at}/approval` : at, detail: "Give a step exactly one of `task` and `approval`." }];
  const check = checker(spec, index);
  const faults: PipelineFault[] = [];
  if (step.condition !== undefined) {
    const parsed = parseCondition(step.condition);
    if ("fault" in parsed) faults.push({ pointer: `${at}/condition`, detail: `The condition is not understood at ${parsed.fault}.` });
    else faults.push(...expressionsIn(parsed.condition).flatMap((e) => check(e, `${at}/condition`)));
  }
  for (const [text, pointer] of textsOf(step, at)) {
    const parsed = parseTemplate(text);
    if ("fault" in parsed) faults.push({ pointer, detail: `The text is not understood at ${parsed.fault}.` });
    else faults.push(...parsed.pieces.flatMap((piece) => (typeof piece === "string" ? [] : check(piece, pointer))));
  }
  if (step.task) {
    const { script } = splitParams(step.task.kind, step.task.params).fixed as { script?: unknown };
    if (typeof script === "string" && expressionsOf(script).length > 0)
      faults.push({
        pointer: `${at}/task/params/script`,
        detail: "A script is not changed, so that no value can become a command: give the value in `env` and use the variable.",
      });
    faults.push(...paramFaults(step.task.kind, step.task.params, `${at}/task/params`));
  }
  return faults;
}

/** The texts of a step in which expressions are looked for. */
function textsOf({ task, approval }: PipelineStep, at: string): [text: string, pointer: string][] {
  if (!task) return textsIn(approval?.message, `${at}/approval/message`);
  return [...textsIn(splitParams(task.kind, task.params).templates, `${at}/task/params`), ...textsIn(task.name, `${at}/task/name`)];
}

/** Checks what an expression of one step names. */
function checker(spec: PipelineSpec, index: number) {
  const ancestors = ancestorsOf(spec, index);
  const byId = new Map(spec.steps.map((step) => [step.id, step]));
  return (e: Expression, pointer: string): PipelineFault[] => {
    const fault = (detail: string) => [{ pointer, detail: `Column ${e.at + 1}: ${detail}` }];
    if (e.of === "input") {
      const inputs = new Set(Object.keys(spec.inputs ?? {}));
      return inputs.has(e.name) ? [] : fault(`there is no input \`${e.name}\`${meant(e.name, inputs)}.`);
    }
    if (e.of === "run") return [];
    const named = byId.get(e.step);
    if (!named) return fault(`there is no step \`${e.step}\`${meant(e.step, new Set(byId.keys()))}.`);
    if (!ancestors.has(e.step))
      return fault(`\`${e.step}\` need not have ended when this step starts: add it to \`needs\` (now ${list(needsOf(spec, index))}).`);
    if (named.approval && e.field !== "state") return fault(`\`${e.step}\` is an approval, which has a state only.`);
    return [];
  };
}

function textsIn(value: unknown, pointer: string): [text: string, pointer: string][] {
  if (typeof value === "string") return [[value, pointer]];
  if (value === null || typeof value !== "object") return [];
  return Object.entries(value).flatMap(([name, member]) => textsIn(member, `${pointer}/${escapePointer(name)}`));
}

const list = (ids: readonly string[]) => (ids.length ? ids.map((id) => `\`${id}\``).join(", ") : "none");

/** `; do you mean …` for a name that differs in a letter or two. */
function meant(name: string, among: ReadonlySet<string>): string {
  const near = [...among].filter((other) => distance(name, other) <= 2).sort((a, b) => distance(name, a) - distance(name, b))[0];
  return near ? `; did you mean \`${near}\`` : "";
}

function distance(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > 2) return 3;
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) next[j] = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1));
    row = next;
  }
  return row[b.length]!;
}
