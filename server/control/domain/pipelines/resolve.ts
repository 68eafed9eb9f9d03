import { type Expression, parseTemplate } from "../../../../openapi/rules/pipelines/expression.ts";

/** What expressions are worked out from. */
export interface Values {
  run: string;
  inputs: Readonly<Record<string, string>>;
  steps: ReadonlyMap<
    string,
    { state: string; task?: string | undefined; outputs?: Record<string, unknown> | undefined }
  >;
}

/** A value that cannot be worked out, as a step that was left out has no outputs. `reason` is for machines. */
export class Unresolved extends Error {
  readonly reason: "UnknownOutput" | "ValueRefused";
  constructor(reason: Unresolved["reason"], message: string) {
    super(message);
    this.reason = reason;
  }
}

/** As much as a request may have: a task could not have been made with more. */
const LARGEST = 1024 * 1024;
const OPENED = /(?<!\$)\$\{secret:/g;

/** The value of an expression; undefined when there is none. */
export function lookUp(expression: Expression, values: Values): unknown {
  if (expression.of === "run") return values.run;
  if (expression.of === "input") return own(values.inputs, expression.name);
  const step = values.steps.get(expression.step);
  if (expression.field === "state") return step?.state;
  if (expression.field === "task") return step?.task;
  return expression.path.reduce<unknown>((at, name) => own(at, name), step?.outputs);
}

/**
 * A value with every expression in its texts worked out. A text that is one expression takes the value with its type; in a longer
 * one values are put in as text. A reference to a secret that came with a value is made harmless: only who wrote the pipeline may
 * ask the delegate for secrets.
 * @throws Unresolved
 */
export function resolve(template: unknown, values: Values): unknown {
  let left = LARGEST;
  const take = <T>(value: T): T => {
    left -= typeof value === "string" ? value.length : 0;
    if (left < 0)
      throw new Unresolved("ValueRefused", `With its values put in, the task has more than ${LARGEST} characters.`);
    return value;
  };
  const walk = (value: unknown): unknown => {
    if (typeof value === "string") return take(text(value, values));
    if (Array.isArray(value)) return value.map(walk);
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, walk(member)]));
  };
  return walk(template);
}

/** A text with its expressions put in, as `approval.message` needs it. */
export function resolveText(template: string, values: Values): string {
  return asText(text(template, values));
}

function text(template: string, values: Values): unknown {
  const parsed = parseTemplate(template);
  if ("fault" in parsed) throw new Unresolved("ValueRefused", parsed.fault);
  const { pieces } = parsed;
  const [first] = pieces;
  if (pieces.length === 1 && typeof first !== "string") return harmless(found(first!, values));
  let literal = 0;
  const whole = pieces
    .map((piece) => {
      if (typeof piece !== "string") return asText(harmless(found(piece, values)));
      literal += piece.match(OPENED)?.length ?? 0;
      return piece;
    })
    .join("");
  // Two harmless pieces may make a reference together.
  if ((whole.match(OPENED)?.length ?? 0) !== literal)
    throw new Unresolved("ValueRefused", "A value would make a reference to a secret of the text around it.");
  return whole;
}

function found(expression: Expression, values: Values): unknown {
  const value = lookUp(expression, values);
  if (value !== undefined) return value;
  const step = expression.of === "step" ? values.steps.get(expression.step) : undefined;
  throw new Unresolved(
    "UnknownOutput",
    `${expression.text} has no value${step ? `: step ${expression.of === "step" ? expression.step : ""} ended as ${step.state} without it` : ""}.`,
  );
}

function harmless(value: unknown): unknown {
  if (typeof value === "string") return value.replaceAll(OPENED, (open) => `$${open}`);
  if (Array.isArray(value)) return value.map(harmless);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, harmless(member)]));
}

export function asText(value: unknown): string {
  if (typeof value === "string") return value;
  if (value === undefined || value === null) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Own members only: `constructor` is no output of anybody. */
function own(of: unknown, name: string): unknown {
  if (of === null || typeof of !== "object" || !Object.hasOwn(of, name)) return undefined;
  return (of as Record<string, unknown>)[name];
}
