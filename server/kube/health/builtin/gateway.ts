import type { KubeObject } from "../../object.ts";
import { type Checks, firstOf, waiting } from "../rules.ts";
import { type Condition, conditionsOf, type Health, type HealthCheck, health } from "../types.ts";

interface Told extends Condition {
  observedGeneration?: number;
}
/** What one parent, listener or ancestor says of an object. */
interface Voice {
  conditions?: Told[];
  parentRef?: { name?: string };
  ancestorRef?: { name?: string };
}

/** The rule of the whole API: references first, then acceptance, then the data plane. */
function problem(conditions: readonly Told[], prefix: string, programming: string): Health | undefined {
  for (const type of ["ResolvedRefs", "Accepted"]) {
    const refused = conditions.find((c) => c.type === type && c.status === "False");
    if (refused) return health("Degraded", prefix + (refused.message ?? `Failed condition: ${type}`));
  }
  const waits = conditions.find((c) => c.type === "Programmed" && c.status !== "True");
  return waits && health("Progressing", prefix + (waits.message ?? programming));
}

const gateway: HealthCheck = (object) => {
  const { status } = object;
  const listeners: Voice[] = status?.listeners ?? [];
  const own = problem(conditionsOf(object), "", "Gateway is still being programmed");
  if (own) return own;
  for (const { conditions = [] } of listeners) {
    const bad = problem(conditions, "Listener: ", "Listener is still being programmed");
    if (bad) return bad;
  }
  return status?.conditions || listeners.length > 0 ? health("Healthy", "Gateway is healthy") : undefined;
};

/** The ecosystem believes a parent of a GRPCRoute whatever generation it speaks of. */
const always = () => () => true;
/** No word may be of another generation, and one without a generation counts. */
const agreed =
  ({ metadata }: KubeObject) =>
  ({ conditions = [] }: Voice): boolean =>
    metadata.generation === undefined ||
    (conditions.length > 0 &&
      conditions.every(({ observedGeneration: seen = metadata.generation }) => seen === metadata.generation));

const route = (kind: string, current: typeof agreed): HealthCheck =>
  firstOf(
    (object) => {
      const parents: Voice[] = (object.status?.parents ?? [])
        .filter((parent: Voice) => parent.conditions)
        .filter(current(object));
      for (const { conditions = [], parentRef } of parents) {
        const bad = problem(conditions, `Parent ${parentRef?.name ?? ""}: `, "Route is still being programmed");
        if (bad) return bad;
      }
      return parents.some(({ conditions = [] }) => conditions.length > 0)
        ? health("Healthy", `${kind} is healthy`)
        : undefined;
    },
    waiting(`Waiting for ${kind} status`),
  );

/** Each parent has three ways: it refuses at once, else one that is still at it counts more than one that is done. */
const tlsRoute: HealthCheck = ({ metadata, status }) => {
  const isOld = (c: Told) =>
    metadata.generation !== undefined && (c.observedGeneration ?? metadata.generation) !== metadata.generation;
  const verdicts = ((status?.parents ?? []) as Voice[])
    .filter(({ conditions = [] }) => conditions.length > 0 && !conditions.some(isOld))
    .map(({ conditions = [], parentRef }): Health => {
      const prefix = `Parent ${parentRef?.name ?? ""}: `;
      const bad = problem(conditions, prefix, "Route is still being programmed");
      if (bad) return bad;
      const said = ["Accepted", "ResolvedRefs"].every((type) =>
        conditions.some((c) => c.type === type && c.status === "True"),
      );
      return said
        ? health("Healthy", "TLSRoute is healthy")
        : health("Progressing", `${prefix}Waiting for TLSRoute conditions`);
    });
  const programming = (one: Health) =>
    one.status === "Progressing" && !one.message?.endsWith("Waiting for TLSRoute conditions");
  return (
    verdicts.find((one) => one.status === "Degraded") ??
    verdicts.find(programming) ??
    verdicts.find((one) => one.status === "Healthy") ??
    verdicts[0]
  );
};

const gatewayClass: HealthCheck = (object) => {
  const { generation } = object.metadata;
  const told = (conditionsOf(object) as Told[]).find(
    (c) =>
      c.type === "Accepted" &&
      (generation === undefined || c.observedGeneration === undefined || c.observedGeneration === generation),
  );
  if (told?.status === "True") return health("Healthy", told.message ?? "GatewayClass is accepted");
  if (told?.status === "False") return health("Degraded", told.message ?? "GatewayClass is not accepted");
  return health("Progressing", told?.message ?? "Waiting for GatewayClass status");
};

const backendTls: HealthCheck = ({ metadata, status }) => {
  const ancestors: Voice[] = status?.ancestors ?? [];
  const old = ancestors.find(
    ({ conditions = [] }) =>
      metadata.generation !== undefined &&
      conditions.some((c) => c.observedGeneration !== undefined && c.observedGeneration !== metadata.generation),
  );
  if (old)
    return health(
      "Progressing",
      `Waiting for Ancestor ${old.ancestorRef?.name ?? ""} to update BackendTLSPolicy status`,
    );
  let accepted = false;
  for (const { conditions = [], ancestorRef } of ancestors) {
    // A controller that does not know the target is not the one that matters.
    if (conditions.some((c) => c.type === "Accepted" && c.status !== "True" && c.reason === "TargetNotFound")) continue;
    for (const { type, status: told, message } of conditions) {
      if (type !== "Accepted" && type !== "ResolvedRefs") continue;
      if (told !== "True") return health("Degraded", `Ancestor ${ancestorRef?.name ?? ""}: ${message ?? ""}`);
      if (type === "Accepted") accepted = true;
    }
  }
  return accepted
    ? health("Healthy", "BackendTLSPolicy is healthy")
    : health("Progressing", "Waiting for BackendTLSPolicy status");
};

export const gatewayApi: Checks = {
  "gateway.networking.k8s.io/Gateway": firstOf(gateway, waiting("Waiting for Gateway status")),
  "gateway.networking.k8s.io/GatewayClass": gatewayClass,
  "gateway.networking.k8s.io/HTTPRoute": route("HTTPRoute", agreed),
  "gateway.networking.k8s.io/GRPCRoute": route("GRPCRoute", always),
  "gateway.networking.k8s.io/TLSRoute": firstOf(tlsRoute, waiting("Waiting for TLSRoute status")),
  "gateway.networking.k8s.io/BackendTLSPolicy": backendTls,
};
