import { instanceOf } from "../../project/instance.ts";
import { serves, tenantOf } from "../../project/tenant.ts";
import { type Application, META } from "../application.ts";
import type { Destination } from "../destination.ts";
import { markOf } from "../tracking.ts";

type Node = Record<string, unknown>;
/** What is known of the marks that count, and of the applications that they may name. */
export type MarksKnown = Pick<Destination, "own" | "application"> & {
  settings: Pick<Destination["settings"], "tracking">;
};

// In a template they make Pods, claims and Jobs look like another application's.
const MARKS: readonly string[] = [META.app, META.trackingId, META.installationId];
// As `labels` of a template, and `commonLabels`, `podAnnotations` of the kinds of operators.
const GIVEN = /(labels|annotations)$/i;
// With one less it would select more.
const SELECTED = /^match/i;

/** What a tenant's application says, without marks in the labels and annotations that it gives to other objects. The given value stays as it is. */
export function withoutGivenMarks<T extends object>(app: Application, value: T, known: MarksKnown): T {
  if (tenantOf(app) === undefined) return value;
  const isForged = forgedLabels(app, known);
  if (!holdersOf(value).some((holder) => isMarked(holder) || isForged(holder))) return value;
  const copy = structuredClone(value);
  const { labelKey } = known.settings.tracking;
  const own = markOf(instanceOf(app, known.own), known.settings.tracking);
  const forged = new Set<unknown>();
  for (const holder of holdersOf(copy)) {
    for (const key of MARKS) delete holder[key];
    if (!isForged(holder)) continue;
    forged.add(holder[labelKey]);
    holder[labelKey] = own;
  }
  // What the object itself selects by that label has the new value now.
  for (const selector of selectorsOf(copy)) if (forged.has(selector[labelKey])) selector[labelKey] = own;
  return copy;
}

/**
 * Whether labels name an application of another scope, where objects are tracked by label. Any other value stays, because charts select Pods by
 * it, and selectors and templates of claims cannot be changed.
 */
function forgedLabels(app: Application, { settings: { tracking }, application, own }: MarksKnown) {
  const mine = markOf(instanceOf(app, own), tracking);
  return (labels: Node): boolean => {
    const named = tracking.method === "label" ? labels[tracking.labelKey] : undefined;
    if (typeof named !== "string" || named === mine) return false;
    const other = application?.(named);
    return other !== undefined && !serves(tenantOf(app), tenantOf(other));
  };
}

const isMarked = (holder: Node): boolean => MARKS.some((key) => Object.hasOwn(holder, key));

/** The labels and annotations of a value. Depth is the user's choice, so nothing here calls itself. */
function holdersOf(value: object): Node[] {
  const found: Node[] = [];
  const open: object[] = [value];
  while (open.length) {
    for (const [name, inner] of Object.entries(open.pop()!)) {
      if (inner === null || typeof inner !== "object") continue;
      open.push(inner);
      if (GIVEN.test(name) && !SELECTED.test(name)) found.push(inner as Node);
    }
  }
  return found;
}

function selectorsOf(value: { spec?: { selector?: Node & { matchLabels?: Node } } }): Node[] {
  const selector = value.spec?.selector;
  return [selector, selector?.matchLabels].filter((one) => one !== null && typeof one === "object") as Node[];
}
