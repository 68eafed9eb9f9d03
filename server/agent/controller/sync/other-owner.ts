import { describe, type KubeObject } from "../../../kube/object.ts";
import { instanceOf } from "../../project/instance.ts";
import { serves, tenantOf } from "../../project/tenant.ts";
import type { Application } from "../application.ts";
import type { CompareTarget } from "../compare/normalise.ts";
import type { Destination } from "../destination.ts";
import { hookOf } from "../order.ts";
import { effectiveOwner } from "../tracking.ts";

/** The application that has an object now, when it is another one. The first to have it keeps it: two that write in turns would never end. */
export function otherOwner(
  { live, claims, own, application, settings: { tracking } }: Destination,
  target: CompareTarget,
  app: Application,
): string | undefined {
  const instance = instanceOf(app, own);
  const here = live.find(target.key);
  const marked = here && effectiveOwner(here, instance, tracking);
  const isFree = here && marked !== undefined && hookOf(here) && isOpenHook(app, application?.(marked));
  const first = (isFree ? undefined : marked) ?? claims.get(target.key);
  return first === instance ? undefined : first;
}

/** A hook stays when its application is gone or no longer has it. Then only an application of the same scope may take it. */
const isOpenHook = (app: Application, owner: Application | undefined): boolean =>
  owner === undefined || tenantOf(owner) === tenantOf(app);

/** An application, and the other one that has an object of it. */
interface Pair {
  app: Application;
  other: string;
}
type Known = Pick<Destination, "application" | "own">;

export const leftToOther = (known: Known, object: KubeObject, pair: Pair): string =>
  `${partOfOther(known, object, pair)}; it is left to that one`;

export function partOfOther(known: Known, object: KubeObject, pair: Pair): string {
  const other = isTold(known, pair) ? `application ${pair.other}` : "another application";
  return `${describe(object)} is part of ${other}`;
}

export function partOfBoth(known: Known, object: KubeObject, pair: Pair): string {
  const name = instanceOf(pair.app, known.own);
  const both = isTold(known, pair)
    ? `applications ${name} and ${pair.other}`
    : `application ${name} and of another one`;
  return `${describe(object)} is part of ${both}`;
}

/** Whether readers of an application may see the other one: a tenant may see applications in its scope and below. */
function isTold({ application }: Known, { app, other }: Pair): boolean {
  const tenant = tenantOf(app);
  if (tenant === undefined) return true;
  const there = application?.(other);
  return there !== undefined && serves(tenant, tenantOf(there));
}
