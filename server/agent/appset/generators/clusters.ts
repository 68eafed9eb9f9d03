import { HOME_NAME, HOME_SERVER, isHomeAddress } from "../../../base/cloud/home-cluster.ts";
import { done } from "../../../base/outcome.ts";
import { addValues, type Params } from "../parameters/params.ts";
import { isEmptySelector, selectorOf } from "../parameters/selector.ts";
import { normalize } from "../template/sprig/names.ts";
import { StringMap, type ValueMap } from "../template/value.ts";
import type { Cluster } from "../world/world.ts";
import type { Generate } from "./context.ts";

const IN_CLUSTER = { name: HOME_NAME, server: HOME_SERVER };
const SECRET_TYPE = "argocd.argoproj.io/secret-type";

/** `clusters`: those that have a Secret, and our own one unless labels are asked for, which it has none of. */
export const clusters: Generate = async ({ selector, values, flatList }, { world, how }) => {
  const fits = selectorOf(selector);
  if (fits.kind !== "done") return fits;
  const known = world
    .clusters()
    .map((cluster) => ({ ...cluster, labels: { ...cluster.labels, [SECRET_TYPE]: "cluster" } }));
  const wanted: Cluster[] = known.filter(({ labels }) => fits.value(labels));
  const isOurs = ({ server }: Cluster) => isHomeAddress(server, process.env);
  if (isEmptySelector(selector) && !known.some(isOurs)) wanted.push(IN_CLUSTER);

  const params = wanted.map((cluster) => {
    const made = paramsOf(cluster, how.goTemplate);
    addValues(values, made, how);
    return made;
  });
  return done(flatList ? [new Map([["clusters", params]]) as Params] : params);
};

function paramsOf({ name, server, project, labels, annotations }: Cluster, goTemplate: boolean): Params {
  const params: Params = new Map([
    ["name", name],
    ["nameNormalized", normalize(name)],
    ["server", server],
    ["project", project ?? ""],
  ]);
  if (!labels) return params;
  const entries = { annotations: Object.entries(annotations ?? {}), labels: Object.entries(labels) };
  if (goTemplate) {
    const metadata: ValueMap = new Map();
    for (const [field, all] of Object.entries(entries)) if (all.length) metadata.set(field, new StringMap(all));
    params.set("metadata", metadata);
  } else {
    for (const [field, all] of Object.entries(entries))
      for (const [key, value] of all) params.set(`metadata.${field}.${key}`, value);
  }
  return params;
}
