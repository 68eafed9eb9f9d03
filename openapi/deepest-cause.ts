import type { components } from "./contract/types.ts";

type Node = components["schemas"]["ResourceNode"];
type Event = components["schemas"]["ApplicationEvent"];

/** Why an application does not become healthy, as far down as it can be seen. */
export interface Cause {
  /** `Pod web-1: ImagePullBackOff: Back-off pulling image "web:9"`. */
  text: string;
  /** Waiting alone does not mend it: a person has to change something. */
  lasting: boolean;
  /** The object that it is about. */
  of: { group?: string; kind: string; namespace?: string; name: string };
  /** A container ends again and again: the end of its log says more. */
  crashes: boolean;
}

/** States of a container that stay until its Pod, its image or what it refers to is changed. */
const LASTING_STATES = new Set([
  "CrashLoopBackOff",
  "CreateContainerConfigError",
  "CreateContainerError",
  "ErrImageNeverPull",
  "ImagePullBackOff",
  "InvalidImageName",
]);
/** `FailedCreate` of a ReplicaSet or Job: a quota, a policy or an account refuses its Pods. */
const REFUSED =
  /exceeded quota|is forbidden|violates PodSecurity|admission webhook .* denied|serviceaccount .* not found/i;

/**
 * The deepest object that is not healthy and says why; else the newest warning that Kubernetes tells of one of the objects.
 * Undefined when neither says anything.
 */
export function deepestCause(nodes: readonly Node[], events: readonly Event[]): Cause | undefined {
  const ill = nodes
    .map((node) => ({ node, depth: depthOf(node, nodes), state: stateOf(node) }))
    .filter(
      ({ node, state }) =>
        (node.health === "Degraded" || node.health === "Progressing") && (node.message || LASTING_STATES.has(state)),
    )
    .sort((a, b) => rank(b.node) - rank(a.node) || b.depth - a.depth)[0];
  const warning = events.find(
    ({ type, reason }) => type === "Warning" && reason !== "BackOff" && reason !== "Unhealthy",
  );
  // A Deployment only counts its replicas; why there are too few, a warning says better.
  if (ill && (ill.depth > 0 || !warning)) return ofNode(ill.node, ill.state);
  return warning && ofEvent(warning);
}

const rank = ({ health }: Node): number => (health === "Degraded" ? 1 : 0);
const stateOf = ({ info = [] }: Node): string => info.find(({ name }) => name === "status")?.value ?? "";

function depthOf(node: Node, nodes: readonly Node[], seen: ReadonlySet<Node> = new Set()): number {
  const owner = nodes.find(({ uid }) => uid !== undefined && node.parents?.includes(uid));
  return owner === undefined || seen.has(owner) ? 0 : 1 + depthOf(owner, nodes, new Set([...seen, node]));
}

function ofNode({ group, kind, namespace, name, message }: Node, state: string): Cause {
  const lasting = LASTING_STATES.has(state);
  const said = [lasting ? state : "", message].filter(Boolean).join(": ");
  return {
    text: `${kind} ${name}: ${said}`,
    lasting,
    of: place({ group, kind, namespace, name }),
    crashes: state === "CrashLoopBackOff",
  };
}

function ofEvent({ group, kind, namespace, name, reason, message }: Event): Cause {
  const lasting = reason === "FailedCreate" && REFUSED.test(message);
  return {
    text: `${kind} ${name}: ${reason}: ${message}`,
    lasting,
    of: place({ group, kind, namespace, name }),
    crashes: false,
  };
}

function place({
  group,
  kind,
  namespace,
  name,
}: { [part in "group" | "namespace"]: string | undefined } & { kind: string; name: string }) {
  return { ...(group ? { group } : {}), kind, ...(namespace ? { namespace } : {}), name };
}
