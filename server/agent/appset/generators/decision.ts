import { HOME_NAME, HOME_SERVER } from "../../../base/cloud/home-cluster.ts";
import { done, stop } from "../../../base/outcome.ts";
import { addValues, type Params } from "../parameters/params.ts";
import { APPSET, type Free } from "../types.ts";
import type { Generate } from "./context.ts";

/** `clusterDecisionResource`: clusters that another controller names in the status of its objects. */
export const decision: Generate = async ({ configMapRef, name, labelSelector, values }, { world, how }) => {
  const config = await world.configMap(configMapRef ?? "");
  if (config.kind !== "done") return config;
  const { apiVersion, kind, statusListKey, matchKey } = config.value;
  if (!apiVersion || !kind || !statusListKey || !matchKey) {
    return stop(APPSET.params, `ConfigMap ${configMapRef} must name apiVersion, kind, statusListKey and matchKey`);
  }
  const objects = await world.objects(apiVersion, kind.toLowerCase(), { name, selector: labelSelector });
  if (objects.kind !== "done") return objects;
  // First: the name of the agent's own cluster is reserved.
  const known = [{ name: HOME_NAME, server: HOME_SERVER }, ...world.clusters()];
  const all: Params[] = [];
  const seen = new Set<string>();
  for (const object of objects.value) {
    const decisions = object.status?.[statusListKey];
    for (const one of Array.isArray(decisions) ? (decisions as Free[]) : []) {
      const wanted = one[matchKey];
      const cluster = known.find((c) => c.name === wanted);
      if (!cluster || seen.has(cluster.name)) continue;
      seen.add(cluster.name);
      const params: Params = new Map([
        ["name", cluster.name],
        ["server", cluster.server],
      ]);
      for (const [key, value] of Object.entries(one)) params.set(key, String(value));
      addValues(values, params, how);
      all.push(params);
    }
  }
  return done(all);
};
