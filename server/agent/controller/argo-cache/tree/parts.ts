import { compare } from "../../../../base/lang/compare.ts";
import { gvkOf, type KubeObject, keyOf } from "../../../../kube/object.ts";
import { instanceOf } from "../../../project/instance.ts";
import type { Application } from "../../application.ts";
import type { CompareTarget } from "../../compare/normalise.ts";
import type { Destination } from "../../destination.ts";
import type { Memory } from "../../memory.ts";
import { hookOf } from "../../order.ts";
import { belongs } from "../../projects.ts";
import { prunable } from "../../tasks.ts";
import { appLabel } from "../../tracking.ts";

/** One object of an application: as Git wants it, as it is, or both. */
export interface Part {
  key: string;
  target?: CompareTarget;
  live?: KubeObject;
  hook: boolean;
  /** Whether a sync would change it, as the last comparison found. */
  modified: boolean;
}

/** What belongs to an application by the last look at it, in the order in which readers expect it. */
export function partsOf(app: Application, destination: Destination, { wanted, verdicts, unlabelled }: Memory): Part[] {
  const label = appLabel(instanceOf(app, destination.own));
  const all = wanted?.normalised.targets ?? [];
  const mine = belongs(app, destination);
  const parts = new Map<string, Part>();
  for (const target of all) {
    if (target.hook) continue;
    const refused = destination.refuse?.(target.object, target.resource);
    const own = destination.live.get(target.key, label);
    const live = refused ? undefined : (own ?? unlabelled.get(target.key));
    // An object that was not compared yet does not count as different.
    const modified = live === undefined || live !== own || verdicts.get(target, live) === false;
    parts.set(target.key, { key: target.key, target, ...(live ? { live } : {}), hook: false, modified });
  }
  const here = destination.live.ofApp(label);
  for (const live of prunable(here, all, mine))
    parts.set(keyOf(live), { key: keyOf(live), live, hook: false, modified: false });
  for (const [key, live] of here)
    if (hookOf(live) && mine(live)) parts.set(key, { key, live, hook: true, modified: false });
  return [...parts.values()].sort((a, b) => compare(a.key, b.key));
}

export const isSecret = (object: KubeObject): boolean => object.kind === "Secret" && gvkOf(object).group === "";
