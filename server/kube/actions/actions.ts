import { done, type Outcome, stop } from "../../base/outcome.ts";
import { describe, gvkOf, type KubeObject } from "../object.ts";
import { argo } from "./argo.ts";
import { numa } from "./numa.ts";
import { operators } from "./operators.ts";
import { ACTION, type Action, type Effect, type Offer, type Parameters, Refusal } from "./types.ts";
import { workloads } from "./workloads.ts";

export { ACTION, type Effect, type Offer, type Parameters } from "./types.ts";

/** What can be done with an object beside changing it, by `group/Kind`. */
export const ACTIONS: Record<string, Action[]> = { ...workloads, ...argo, ...operators, ...numa };

const actionsFor = (object: KubeObject): Action[] => ACTIONS[`${gvkOf(object).group}/${object.kind}`] ?? [];

/** What a person may do with this object, and what makes no sense just now. */
export function actionsOf(object: KubeObject): Offer[] {
  return actionsFor(object)
    .filter((action) => action.offered?.(object) ?? true)
    .map((action) => ({
      name: action.name,
      disabled: action.disabled?.(object) ?? false,
      ...(action.parameters ? { parameters: action.parameters(object) } : {}),
    }));
}

/**
 * What an action asks of the cluster. The given object is not changed. A disabled action runs all the same: what is
 * shown to a person may be a moment old, and doing it twice does no harm.
 */
export function runAction(object: KubeObject, name: string, parameters: Parameters, now: Date): Outcome<Effect> {
  const action = actionsFor(object).find((one) => one.name === name);
  if (!action) {
    const names = actionsFor(object).map((one) => one.name);
    const hint = names.length ? `; there are ${names.join(", ")}` : "";
    return stop(ACTION.unknown, `${describe(object)} has no action ${JSON.stringify(name)}${hint}`);
  }
  const copy = structuredClone(object);
  const result = action.run(copy, { parameters, now });
  if (result instanceof Refusal) return stop(ACTION.invalid, result.message);
  return done(result ? { kind: "create", objects: result } : { kind: "change", object: copy });
}
