import type { Failure } from "../../../base/outcome.ts";
import { KUBE } from "../../../kube/errors.ts";

const HINTS: Record<string, string> = {
  [KUBE.forbidden]:
    "; give the delegate's service account this right (`permissions` of its chart), or the task a `cluster` with an account that has it",
  [KUBE.fieldConflict]: "; leave these fields out, or take them over with `force`",
  [KUBE.namespaceNotFound]: "; add the Namespace to the manifests, or make it first",
  [KUBE.unauthorized]: "; its token may have expired",
};

/** What a cluster's refusal means for the task's author: `what` names the object, the end says what can be done. */
export function explain(failure: Failure, what: string): { reason: string; message: string } {
  const { reason, message } = failure;
  const text = message.includes(what) ? message : `${what}: ${message}`;
  if (reason === KUBE.invalid && /field is immutable|updates to .* forbidden/i.test(message))
    return { reason: "FieldImmutable", message: `${text}; delete the object first, or give the new one another name` };
  return { reason, message: `${text}${HINTS[reason] ?? ""}` };
}
