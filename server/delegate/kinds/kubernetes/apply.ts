import { again, done, type Failure, type Outcome, stop } from "../../../base/outcome.ts";
import { pause } from "../../../base/process/pause.ts";
import { KUBE } from "../../../kube/errors.ts";
import { describe, gvkOf, type KubeObject } from "../../../kube/object.ts";
import { type Resource, resourcePath } from "../../../kube/path.ts";
import { patiently } from "../../config/retry.ts";
import { type Cluster, FIELD_MANAGER } from "./cluster.ts";
import { placed, type TaskObject } from "./targets.ts";

/** The result for one object. */
export interface Applied {
  object: KubeObject;
  resource: Resource;
  result: "created" | "configured" | "unchanged";
}

export interface ApplyOptions {
  cluster: Cluster;
  namespace: string;
  force: boolean;
  dryRun: boolean;
  signal: AbortSignal;
}

const ESTABLISHED_MS = 30_000;
// An API server that restarts is back by then.
const PATIENCE_MS = 60_000;

/** Makes one object as it is wanted. A definition is there for its objects when this ends. */
export async function applyOne(target: TaskObject, options: ApplyOptions): Promise<Outcome<Applied>> {
  const { cluster, namespace, force, dryRun, signal } = options;
  const { client } = cluster;
  const { group, version, kind } = gvkOf(target.object);
  const found = target.resource ? done(target.resource) : await client.discovery.find(group, version, kind);
  if (found.kind !== "done") return found;
  const resource = found.value;
  const object = placed(target.object, resource, namespace);
  if (!object.metadata.name) return create(object, resource, options);
  const before = await client.get(resource, object.metadata.namespace, object.metadata.name);
  const sent = await patiently(() => client.apply(resource, object, { force, dryRun }), signal, PATIENCE_MS);
  if (sent.kind !== "done") return sent;
  if (kind === "CustomResourceDefinition" && !dryRun) {
    const failure = await established(client, resource, object.metadata.name, signal);
    if (failure) return failure;
  }
  return done({ object: sent.value, resource, result: resultOf(before, sent.value, dryRun) });
}

/** An object that has only the beginning of a name is another one each time. */
async function create(
  object: KubeObject,
  resource: Resource,
  { cluster, dryRun }: ApplyOptions,
): Promise<Outcome<Applied>> {
  const query = { fieldManager: FIELD_MANAGER, ...(dryRun ? { dryRun: "All" } : {}) };
  const made = await cluster.client.json("POST", resourcePath(resource, object.metadata.namespace), {
    body: object,
    query,
  });
  return made.kind === "done" ? done({ object: made.value, resource, result: "created" }) : made;
}

function resultOf(before: Outcome<KubeObject>, after: KubeObject, dryRun: boolean): Applied["result"] {
  if (before.kind !== "done")
    return before.reason === KUBE.notFound || before.reason === KUBE.namespaceNotFound ? "created" : "configured";
  const same = dryRun
    ? sameButTimes(before.value, after)
    : before.value.metadata.resourceVersion === after.metadata.resourceVersion;
  return same ? "unchanged" : "configured";
}

/** A dry run counts no version up. */
function sameButTimes(before: KubeObject, after: KubeObject): boolean {
  const strip = ({ metadata, ...rest }: KubeObject) => {
    const { managedFields: _, resourceVersion: __, ...kept } = metadata;
    return JSON.stringify(sorted({ ...rest, metadata: kept }));
  };
  return strip(before) === strip(after);
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, inner]) => [name, sorted(inner)]),
  );
}

async function established(
  client: Cluster["client"],
  resource: Resource,
  name: string,
  signal: AbortSignal,
): Promise<Failure | undefined> {
  const ends = performance.now() + ESTABLISHED_MS;
  while (!signal.aborted) {
    const read = await client.get(resource, undefined, name);
    const conditions: { type: string; status: string; message?: string }[] =
      read.kind === "done" ? (read.value.status?.conditions ?? []) : [];
    const refused = conditions.find((c) => c.type === "NamesAccepted" && c.status === "False");
    if (refused)
      return stop(
        "NotEstablished",
        `CustomResourceDefinition ${name}: ${refused.message ?? "its names are not accepted"}`,
      );
    if (conditions.some((c) => c.type === "Established" && c.status === "True")) {
      client.discovery.forget();
      return undefined;
    }
    if (performance.now() > ends)
      return again(
        "NotEstablished",
        `CustomResourceDefinition ${name} was not established within ${ESTABLISHED_MS / 1_000} s`,
      );
    await pause(100, signal);
  }
  return stop("Ended", "it was ended");
}

/** The form of an object in outputs. */
export const refOf = ({ apiVersion, kind, metadata }: KubeObject) => ({
  apiVersion,
  kind,
  ...(metadata.namespace ? { namespace: metadata.namespace } : {}),
  name: metadata.name,
});

/** The form of an object in the log. */
export const lineOf = ({ object, result }: Applied, dryRun: boolean): string =>
  `${describe(object)} ${result}${dryRun ? " (dry run)" : ""}`;
