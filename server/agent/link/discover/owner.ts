import { gvkOf, type KubeObject } from "../../../kube/object.ts";
import { setOf } from "../../appset/reconcile/application.ts";
import { ownerOf, type Tracking } from "../../controller/tracking.ts";
import { instanceOf, placeOfInstance } from "../../project/instance.ts";

/** The object of Argo CD that made another one, by its live place. */
export interface Maker {
  kind: "applicationset" | "application";
  namespace: string;
  name: string;
}

/**
 * What made an object: the set that its controller reference names, or the application that tracks it. Where both are named the set counts: it
 * writes the specification. An application does not own itself.
 */
export function makerOf(object: KubeObject, own: string, tracking: Tracking): Maker | undefined {
  const { namespace = own } = object.metadata;
  const set = object.kind === "Application" ? setOf(object) : undefined;
  if (set !== undefined) return { kind: "applicationset", namespace, name: set };
  const application = ownerOf(object, tracking);
  if (application === undefined || application === "") return undefined;
  if (object.kind === "Application" && gvkOf(object).group === "argoproj.io" && application === instanceOf(object, own))
    return undefined;
  return { kind: "application", ...placeOfInstance(application, own) };
}
