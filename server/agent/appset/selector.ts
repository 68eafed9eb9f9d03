import { done, type Outcome, stop } from "../../base/outcome.ts";
import { APPSET, type LabelSelector } from "./types.ts";

export type Labels = Record<string, string>;

/** A label selector as a question; it also takes values that no label may have, such as the address of a cluster. */
export function selectorOf(selector: LabelSelector | null | undefined): Outcome<(labels: Labels) => boolean> {
  const tests: ((labels: Labels) => boolean)[] = [];
  const has = (labels: Labels, key: string) => Object.hasOwn(labels, key);
  for (const [key, value] of Object.entries(selector?.matchLabels ?? {})) tests.push((labels) => has(labels, key) && labels[key] === value);
  for (const { key, operator, values = [] } of selector?.matchExpressions ?? []) {
    const refuse = (why: string) => stop(APPSET.invalid, `error parsing label selector: ${why}`);
    if ((operator === "In" || operator === "NotIn") && values.length === 0)
      return refuse(`for "${operator}" the values of ${key} must not be empty`);
    if ((operator === "Exists" || operator === "DoesNotExist") && values.length > 0)
      return refuse(`for "${operator}" the values of ${key} must be empty`);
    if (operator === "In") tests.push((labels) => has(labels, key) && values.includes(labels[key]!));
    else if (operator === "NotIn") tests.push((labels) => !has(labels, key) || !values.includes(labels[key]!));
    else if (operator === "Exists") tests.push((labels) => has(labels, key));
    else if (operator === "DoesNotExist") tests.push((labels) => !has(labels, key));
    else return refuse(`${JSON.stringify(operator)} is not a valid label selector operator`);
  }
  return done((labels) => tests.every((test) => test(labels)));
}

export const isEmptySelector = (selector: LabelSelector | null | undefined): boolean =>
  Object.keys(selector?.matchLabels ?? {}).length === 0 && (selector?.matchExpressions ?? []).length === 0;
