import { gvkOf, type KubeObject } from "../../../kube/object.ts";

/** A field of a user's own kind that holds what a kind of Kubernetes holds: a quantity, a duration, or a whole PodSpec. */
export interface KnownField {
  group: string;
  kind: string;
  path: readonly string[];
  /** What the field is, or has in it; of `quantities` each field of the map is one. */
  holds: "quantity" | "duration" | "quantities" | "fields";
}

// Argo Rollouts write the PodSpec anew, as the API server does with that of a Deployment.
const ROLLOUT: KnownField = {
  group: "argoproj.io",
  kind: "Rollout",
  path: ["spec", "template", "spec"],
  holds: "fields",
};

const HOLDS: Readonly<Record<string, KnownField["holds"]>> = {
  "core/Quantity": "quantity",
  "meta/v1/Duration": "duration",
  "core/v1/ResourceList": "quantities",
};

/** The fields that one entry of `argocd-cm` names for a kind; a text says what is wrong with one of them. */
export function readKnownFields(group: string, kind: string, said: unknown): (KnownField | string)[] {
  if (said === undefined || said === null) return [];
  if (!Array.isArray(said)) return ["it is not a list"];
  return said.map((one) => {
    const { field, type } = (one ?? {}) as Record<string, unknown>;
    if (typeof field !== "string" || typeof type !== "string") return "an entry has no field or no type";
    const holds = HOLDS[type] ?? (/^core\/v1\/[A-Z]\w*$/.test(type) ? "fields" : undefined);
    return holds ? { group, kind, path: field.split("."), holds } : `the type ${type} is not known`;
  });
}

/** The known fields of an object; those of a Rollout need not be named. */
export function knownFieldsOf(object: KubeObject, named: readonly KnownField[]): KnownField[] {
  const { group } = gvkOf(object);
  const isOf = (field: KnownField) => field.group === group && field.kind === object.kind;
  const own = named.filter(isOf);
  return own.length === 0 && isOf(ROLLOUT) ? [ROLLOUT] : own;
}
