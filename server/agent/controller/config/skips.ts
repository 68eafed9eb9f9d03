import type { KubeObject } from "../../../kube/object.ts";
import { META } from "../application.ts";

// The spellings of true that Argo CD accepts.
const YES = ["1", "t", "T", "true", "True", "TRUE"];

/** Whether an application, or every application of a cluster, is skipped: neither reconciled nor deleted. */
export const skips = ({ metadata }: Pick<KubeObject, "metadata">): boolean =>
  YES.includes(metadata.annotations?.[META.skipReconcile] ?? "");
