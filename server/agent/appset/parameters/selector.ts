import { done, type Outcome, stop } from "../../../base/outcome.ts";
import { type Labels, labelTest } from "../../../kube/selector.ts";
import { APPSET, type LabelSelector } from "../types.ts";

/** A label selector as a question. */
export function selectorOf(selector: LabelSelector | null | undefined): Outcome<(labels: Labels) => boolean> {
  const test = labelTest(selector);
  return typeof test === "string" ? stop(APPSET.invalid, `error parsing label selector: ${test}`) : done(test);
}

export const isEmptySelector = (selector: LabelSelector | null | undefined): boolean =>
  Object.keys(selector?.matchLabels ?? {}).length === 0 && (selector?.matchExpressions ?? []).length === 0;
