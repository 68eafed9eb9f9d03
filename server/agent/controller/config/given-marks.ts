import { tenantOf } from "../../project/tenant.ts";
import { type Application, META } from "../application.ts";

type Node = Record<string, unknown>;

// In a template they make Pods, claims and Jobs look like another application's. The instance label stays, because charts select Pods by it: what
// our own label does not mark is neither listed nor pruned.
const MARKS: readonly string[] = [META.app, META.trackingId, META.installationId];
// As `labels` of a template, and `commonLabels`, `podAnnotations` of the kinds of operators.
const GIVEN = /(labels|annotations)$/i;
// With one less it would select more.
const SELECTED = /^match/i;

/** What a tenant's application says, without marks in the labels and annotations that it gives to other objects. The given value stays as it is. */
export function withoutGivenMarks<T extends object>(app: Application, value: T): T {
  if (tenantOf(app) === undefined || holdersOf(value).length === 0) return value;
  const copy = structuredClone(value);
  for (const holder of holdersOf(copy)) for (const key of MARKS) delete holder[key];
  return copy;
}

/** The labels and annotations with a mark. Depth is the user's choice, so nothing here calls itself. */
function holdersOf(value: object): Node[] {
  const found: Node[] = [];
  const open: object[] = [value];
  while (open.length) {
    for (const [name, inner] of Object.entries(open.pop()!)) {
      if (inner === null || typeof inner !== "object") continue;
      open.push(inner);
      const isGiven = GIVEN.test(name) && !SELECTED.test(name);
      if (isGiven && MARKS.some((key) => Object.hasOwn(inner, key))) found.push(inner as Node);
    }
  }
  return found;
}
