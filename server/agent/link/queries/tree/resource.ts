import { randomBytes } from "node:crypto";
import type { Schemas } from "../../../../../openapi/client.ts";
import { done, type Outcome, stop } from "../../../../base/outcome.ts";
import { offers } from "../../../../kube/actions/custom.ts";
import { Lua } from "../../../../kube/lua/lua.ts";
import type { KubeObject } from "../../../../kube/object.ts";
import type { Application } from "../../../controller/application.ts";
import { findPart, NOT_PART, type ResourceKey } from "../../../controller/cluster/resource-membership.ts";
import { masked } from "../mask.ts";
import { type ReadOnlyContext, withReadOnlyContext } from "../read-only-context.ts";
import { objectOf, type Read } from "../task.ts";
import { findOrphan } from "./orphans.ts";

const MAX_TEXT = 2 * 1024 * 1024;

/** One object of an application as it is in the cluster, and what may be done to it; an orphan of its namespace may be looked at. */
export const applicationResource: Read = async (tc, task) => {
  const key = resourceOf(task.params.resource);
  if (key.kind !== "done") return key;
  const app = await objectOf(tc, task, "applications");
  if (app.kind !== "done") return app;
  return withReadOnlyContext(tc, app.value as Application, async (readOnlyContext) => {
    const live = await liveResource(readOnlyContext, key.value);
    if (live.kind !== "stop" || live.reason !== NOT_PART) return live;
    const orphan = await findOrphan(readOnlyContext, key.value);
    return orphan.kind === "done" ? shown(orphan.value, { actions: [], orphan: true }) : orphan;
  });
};

export async function liveResource(
  { app, destination }: ReadOnlyContext,
  key: ResourceKey,
): Promise<Outcome<Schemas["LiveResource"]>> {
  const part = await findPart(app, destination, key);
  if (part.kind !== "done") return part;
  const { object, resource } = part.value;
  // What the project keeps from a sync it keeps from an action.
  if (destination.refuse?.(object, resource)) return shown(object, { actions: [] });
  const lua = new Lua();
  try {
    const offered = await offers(object, destination.settings.custom, lua);
    if (offered.kind !== "done") return offered;
    const actions = offered.value.map(({ name, disabled, parameters }) => ({
      name,
      ...(disabled ? { disabled } : {}),
      ...(parameters ? { parameters } : {}),
    }));
    return shown(object, { actions });
  } finally {
    await lua.close();
  }
}

function shown(object: KubeObject, more: Omit<Schemas["LiveResource"], "live">): Outcome<Schemas["LiveResource"]> {
  const live = masked(object, randomBytes(16).toString("hex"));
  if (JSON.stringify(live).length > MAX_TEXT) return stop("AnswerTooLarge", "the object has more than 2 MB");
  return done({ live, ...more });
}

export function resourceOf(given: unknown): Outcome<ResourceKey> {
  const { group, version, kind, namespace, name } = (given ?? {}) as Record<string, unknown>;
  const texts = [group, version, namespace].every((one) => one === undefined || typeof one === "string");
  if (!texts || typeof kind !== "string" || typeof name !== "string" || !kind || !name)
    return stop("ParamsInvalid", "the task does not name a resource; this agent may be older than the service");
  return done({ group, version, kind, namespace, name } as ResourceKey);
}
