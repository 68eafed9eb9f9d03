import type { KubeObject } from "../../kube/object.ts";
import type { WorkerObject } from "../../link/exchange.ts";
import { ADOPTED, MANAGED, TENANT } from "../project/tenant.ts";

export { MANAGED };

/** Marks of the objects that the service delivered. */
export const MARK = {
  uid: "outpost.dev/uid",
  /** The delivery's number; the controller echoes it in `status.observedGeneration`. */
  generation: "outpost.dev/generation",
  /** `<account>/<org|->/<project|->`. */
  scope: "outpost.dev/scope",
  id: "outpost.dev/id",
  /** Ids of the last sync and refresh that were put in. */
  sync: "outpost.dev/action",
  refresh: "outpost.dev/refresh-action",
  /** Ids of the last rollback and of the last request to end an operation. */
  rollback: "outpost.dev/rollback-action",
  terminate: "outpost.dev/terminate-action",
  /** `id time why` of the last action that could not be begun. */
  refused: "outpost.dev/action-refused",
  /** Keys of the labels that came with the spec, so that one which is taken out there goes here too. */
  labels: "outpost.dev/labels",
} as const;

export type Collection = WorkerObject["collection"];

/** The marks of one of our objects. */
export interface Marks {
  key: string;
  uid: string;
  generation: number;
}

export function marksOf(object: KubeObject, account: string): Marks | undefined {
  if (object.metadata.labels?.[MANAGED] !== "true") return undefined;
  const {
    [MARK.uid]: uid,
    [MARK.scope]: scope,
    [MARK.id]: id,
    [MARK.generation]: generation,
  } = object.metadata.annotations ?? {};
  const number = Number(generation);
  if (!uid || !id || !scope?.startsWith(`${account}/`) || !Number.isSafeInteger(number) || number < 0) return undefined;
  return { key: `${scope.slice(account.length + 1)}/${id}`, uid, generation: number };
}

/** The annotations that make an object ours. */
export function annotationsOf(object: WorkerObject, account: string): Record<string, string> {
  const { scope, id } = partsOf(object.key);
  const tenant = tenantOfDelivery(object);
  return {
    [MARK.uid]: object.uid,
    [MARK.generation]: String(object.generation),
    [MARK.scope]: `${account}/${scope}`,
    [MARK.id]: id,
    ...(tenant ? { [TENANT]: tenant } : {}),
    ...(object.adopt ? { [ADOPTED]: "true" } : {}),
  };
}

/**
 * The scope of a delivery that comes from below the agent's own. The service gives only such objects another name than their id; of what was taken
 * over it says whose it is, because that keeps the name that it had.
 */
export function tenantOfDelivery({
  key,
  name,
  adopt,
}: Pick<WorkerObject, "key" | "name" | "adopt">): string | undefined {
  if (adopt) return adopt.tenant;
  const { scope, id } = partsOf(key);
  return name === undefined || name === id ? undefined : scope;
}

/** `org/project/id`, taken apart. */
export function partsOf(key: string): { scope: string; org?: string; project?: string; id: string } {
  const [org = "-", project = "-", id = ""] = key.split("/");
  return { scope: `${org}/${project}`, id, ...(org === "-" ? {} : { org }), ...(project === "-" ? {} : { project }) };
}

/** The prefixes of Secrets' names; kinds of their own need none. */
const PREFIX: Partial<Record<Collection, string>> = {
  repositories: "repo-",
  repositorycredentials: "repocreds-",
  clusters: "cluster-",
};

/** Name of the object in the cluster; a taken-over object keeps its own. */
export function nameOf({
  collection,
  name,
  key,
  adopt,
}: Pick<WorkerObject, "collection" | "name" | "key" | "adopt">): string {
  if (adopt && name !== undefined) return name;
  return (PREFIX[collection] ?? "") + (name ?? partsOf(key).id);
}
