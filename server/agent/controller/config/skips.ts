import type { KubeObject } from "../../../kube/object.ts";
import { META } from "../application.ts";

// As the ecosystem reads a yes.
const YES = ["1", "t", "T", "true", "True", "TRUE"];

/** Whether an application, or all that goes to a cluster, is to be left as it is: neither looked at nor taken away. */
export const skips = ({ metadata }: Pick<KubeObject, "metadata">): boolean =>
  YES.includes(metadata.annotations?.[META.skipReconcile] ?? "");
