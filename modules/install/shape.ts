/** Takes out of pre-rendered manifests what a worker was not asked to have. */
import { type InstallValues, permissionsOf } from "./values.ts";

/** Rendered objects, of any shape. */
// biome-ignore lint/suspicious/noExplicitAny: objects of every kind
type Json = any;

/** Items of a Pod's lists that stand for an authority or an init script, by their names. */
const CA = ["ca", "OUTPOST_CA_FILE"];
const INIT = ["init", "init-script"];
const LISTS = ["volumes", "volumeMounts", "env", "initContainers"];

/** A copy without the parts whose values are missing; before the values are filled in. */
export function shape(manifests: readonly object[], values: InstallValues): object[] {
  const { caCertificate, initScript } = values;
  const out = new Set([...(caCertificate === undefined ? CA : []), ...(initScript === undefined ? INIT : [])]);
  const kept = manifests.map((one) => without(one, out) as Json);
  if (values.kind === "delegate") return kept.filter((one) => bound(one, values)).map((one) => delegate(one, values));
  const { shards = 1 } = values;
  return shards > 1
    ? kept.flatMap((one) => (isController(one) ? sharded(one, shards, values.shardBy ?? "application") : one))
    : kept;
}

const isController = ({ kind, metadata }: Json): boolean =>
  kind === "Deployment" && metadata.name === "outpost-agent-controller";

/** One Deployment for each shard, as the chart makes them. */
function sharded(deployment: Json, shards: number, by: string): Json[] {
  const { metadata, spec } = deployment;
  const { template } = spec;
  const [first, ...others] = template.spec.containers;
  const at = first.env.findIndex(({ name }: Json) => name === "OUTPOST_REPO_URL");
  return Array.from({ length: shards }, (_, shard) => {
    const label = { "outpost.dev/shard": String(shard) };
    const own = { OUTPOST_SHARD: String(shard), OUTPOST_SHARDS: String(shards), OUTPOST_SHARD_BY: by };
    const env = first.env.toSpliced(at, 0, ...Object.entries(own).map(([name, value]) => ({ name, value })));
    const labels = { ...template.metadata.labels, ...label };
    return {
      ...deployment,
      metadata: { ...metadata, name: `${metadata.name}-${shard}` },
      spec: {
        ...spec,
        selector: { matchLabels: { ...spec.selector.matchLabels, ...label } },
        template: {
          metadata: { ...template.metadata, labels },
          spec: { ...template.spec, containers: [{ ...first, env }, ...others] },
        },
      },
    };
  });
}

/** Whether anything is left of an object after its values were filled in. */
export const isFilled = ({ kind, data, stringData }: Json): boolean =>
  kind === "ConfigMap"
    ? Object.keys(data ?? {}).length > 0
    : kind !== "Secret" || !stringData || Object.keys(stringData).length > 0;

function without(node: unknown, names: ReadonlySet<string>, list = false): unknown {
  if (Array.isArray(node))
    return node.filter((item) => !list || !names.has(item?.name)).map((item) => without(item, names));
  if (node === null || typeof node !== "object") return node;
  const pairs = Object.entries(node).map(([key, value]) => [key, without(value, names, LISTS.includes(key))] as const);
  return Object.fromEntries(
    pairs.filter(([key, value]) => key !== "initContainers" || (value as unknown[]).length > 0),
  );
}

/** Of the two bindings, the one that the permissions want. */
function bound({ kind }: Json, { permissions }: InstallValues): boolean {
  const { level } = permissionsOf(permissions);
  if (kind === "RoleBinding") return level === "namespace-admin";
  if (kind === "ClusterRoleBinding") return level !== "namespace-admin" && level !== "none";
  return true;
}

function delegate(object: Json, { permissions, replicas = 1, existingSecret }: InstallValues): Json {
  const automountServiceAccountToken = permissionsOf(permissions).level !== "none";
  if (object.kind === "ServiceAccount") return { ...object, automountServiceAccountToken };
  if (object.kind !== "Deployment") return object;
  const { template } = object.spec;
  const [first, ...others] = template.spec.containers;
  const env = first.env.map((entry: Json) =>
    entry.name === "DELEGATE_TOKEN" && existingSecret !== undefined
      ? { name: entry.name, valueFrom: { secretKeyRef: { ...entry.valueFrom.secretKeyRef, name: existingSecret } } }
      : entry,
  );
  const spec = { ...template.spec, automountServiceAccountToken, containers: [{ ...first, env }, ...others] };
  return { ...object, spec: { ...object.spec, replicas, template: { ...template, spec } } };
}
