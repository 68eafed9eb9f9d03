import type { KubeObject } from "../../../kube/object.ts";
import { type Application, META } from "../application.ts";
import { syncOption } from "../order.ts";

/** Whether a person has agreed since a moment: the annotation holds the time of his agreement. */
export function confirmed(app: Application, since: string | undefined): boolean {
  const at = app.metadata.annotations?.[META.deletionApproved] ?? "";
  if (!/^\d{4}-\d\d-\d\dT/.test(at)) return false;
  return Date.parse(at) >= Date.parse(since ?? "");
}

/** Whether an object asks for agreement before it is pruned or deleted. */
export const asksConfirmation = (object: KubeObject, options: readonly string[]): boolean =>
  ["Prune", "Delete"].some((name) => syncOption(name, object, options) === "confirm");
