import type { Failure } from "../../../base/outcome.ts";
import { KUBE } from "../../../kube/errors.ts";
import { gvkOf, type KubeObject } from "../../../kube/object.ts";

/** `deployment.apps/guestbook`. */
export function shortName(object: KubeObject): string {
  const { group, kind } = gvkOf(object);
  return `${kind.toLowerCase()}${group ? `.${group}` : ""}/${object.metadata.name}`;
}

/** In Argo CD's words, so that people can find help for it. */
export function missingKind(object: KubeObject, detail: string): string {
  const { group, kind } = gvkOf(object);
  return `The Kubernetes API could not find ${group}/${kind} for requested resource ${object.metadata.namespace ?? ""}/${object.metadata.name}. Make sure the "${kind}" CRD is installed on the destination cluster. (${detail})`;
}

/** A refusal with what to do about it, where the API server tells only what is wrong. */
export const advisedFailure = (failure: Failure): Failure =>
  failure.reason === KUBE.namespaceNotFound
    ? { ...failure, message: `${failure.message}; create it, or set the sync option CreateNamespace=true` }
    : failure;

/** The fields of an object that were not applied. */
export const leftOut = ({ undeclared }: { undeclared?: readonly string[] }): string =>
  undeclared?.length ? ` (without ${undeclared.join(", ")}, which its kind does not have)` : "";

/** What a step of a sync waits for; undefined for nothing. */
export function waitingFor([first, ...more]: readonly { object: KubeObject; hook: boolean }[]): string | undefined {
  if (!first) return undefined;
  const name = `${gvkOf(first.object).group}/${first.object.kind}/${first.object.metadata.name}`;
  const rest = more.length ? ` and ${more.length} more ${first.hook ? "hooks" : "resources"}` : "";
  return first.hook ? `waiting for completion of hook ${name}${rest}` : `waiting for healthy state of ${name}${rest}`;
}
