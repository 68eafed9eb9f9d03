import { withoutNulls } from "../../base/json/nulls.ts";
import { gvkOf, type KubeObject } from "../object.ts";
import { CHECKS } from "./table.ts";
import { HEALTH_ORDER, type Health, type HealthCheck, type HealthStatus, health } from "./types.ts";

export type { Health, HealthStatus } from "./types.ts";

/** Holds a hook until its end has been seen. */
export const HOOK_FINALIZER = "argocd.argoproj.io/hook-finalizer";

/** An object that is being deleted is Progressing, whatever its own status says. */
export function leaving({ metadata }: KubeObject): Health | undefined {
  if (!metadata?.deletionTimestamp) return undefined;
  return !metadata.finalizers?.includes(HOOK_FINALIZER) ? health("Progressing", "Pending deletion") : undefined;
}

/** The health of one live object, or undefined when its kind has no check and does not count. */
export function healthOf(object: KubeObject): Health | undefined {
  return leaving(object) ?? builtIn(object);
}

/** What we ourselves know of a kind. */
export function builtIn(object: KubeObject): Health | undefined {
  const check = checkOf(object);
  if (!check) return undefined;
  try {
    return check(present(object));
  } catch (error) {
    // A status of another shape than its kind promises.
    return health("Unknown", `the status cannot be judged: ${(error as Error).message}`);
  }
}

// An object is judged at each look at its application, and as good as none holds a null: 2 µs to find out, 0.1 µs to remember.
const whole = new WeakSet<KubeObject>();

/** The ecosystem's checks read a null as a field or an item that is not there. */
function present(object: KubeObject): KubeObject {
  if (whole.has(object)) return object;
  const { metadata = { name: "" } } = object;
  const [spec, status] = [withoutNulls(object.spec), withoutNulls(object.status)];
  const known = (metadata.generation as unknown) !== null;
  if (known && spec === object.spec && status === object.status && object.metadata) {
    whole.add(object);
    return object;
  }
  const { generation: _, ...rest } = metadata;
  return { ...object, metadata: known ? metadata : rest, spec, status };
}

const WILD = Object.entries(CHECKS).filter(([key]) => key.includes("*"));

/** A check for the very kind comes before one for its group, and that before one for all groups below a domain. */
function checkOf(object: KubeObject): HealthCheck | undefined {
  const { group } = gvkOf(object);
  const exact = CHECKS[`${group}/${object.kind}`];
  if (exact) return exact;
  return WILD.find(([key]) => (key.startsWith("*") ? group.endsWith(key.slice(1, -2)) : key === `${group}/*`))?.[1];
}

/**
 * The health of an application: the worst of its objects. One that is missing does not make it worse, because its absence
 * already shows as OutOfSync; all of them missing does.
 */
export function aggregateHealth(parts: readonly { health?: Health; missing: boolean }[]): HealthStatus {
  if (parts.length > 0 && parts.every((part) => part.missing)) return "Missing";
  let worst: HealthStatus = "Healthy";
  for (const { health: one, missing } of parts) {
    if (missing || !one) continue;
    if (HEALTH_ORDER.indexOf(one.status) > HEALTH_ORDER.indexOf(worst)) worst = one.status;
  }
  return worst;
}
