import type { Schemas } from "../../../../openapi/client.ts";
import type { KubeObject } from "../../../kube/object.ts";
import type { Tracking } from "../../controller/tracking.ts";
import { TENANT as TENANT_MARK, tenantOf } from "../../project/tenant.ts";
import { field, SECRET_TYPE } from "../credentials/secrets.ts";
import { defined } from "../deliveries/spec.ts";
import { type Collection, MANAGED, MARK } from "../names.ts";
import { type MadeApplication, toSetStatus } from "../reports/set-status.ts";
import { toStatus } from "../reports/status.ts";
import { type Imported, importApplication, importApplicationSet, importAppProject } from "./import.ts";
import { importCluster, importRepository, projectOfSecret } from "./import-secrets.ts";
import { makerOf } from "./owner.ts";

export type DiscoveredReport = Schemas["DiscoveredReport"];
export type Discovered = DiscoveredReport["collection"];

// The contract's bounds. One request holds many reports, so one of more than this loses its largest parts.
const REPORT_BYTES = 256 * 1024;
const MAX_PAIRS = 64;
const MAX_KEY = 317;
const MAX_LABEL = 63;
const MAX_ANNOTATION = 1_024;
const MAX_PATHS = 64;
const MAX_PATH = 253;
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";
const TENANT = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\/(-|[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)$/;

const COLLECTION: Record<string, Discovered> = {
  Application: "applications",
  ApplicationSet: "applicationsets",
  AppProject: "appprojects",
};
const SECRET: Record<string, Discovered> = { repository: "repositories", cluster: "clusters" };

/** The collection in which the service shows an object; nothing for what it does not show. */
export const collectionOf = (kind: string, { metadata }: KubeObject): (Discovered & Collection) | undefined =>
  COLLECTION[kind] ?? (kind === "Secret" ? SECRET[metadata.labels?.[SECRET_TYPE] ?? ""] : undefined);

export interface Seen {
  /** The agent's own namespace, in which marks are trusted. */
  own: string;
  tracking: Tracking;
  /** Applications of a set. */
  made(set: string): readonly MadeApplication[];
}

/** The report of one object. */
export function toReport(kind: string, given: KubeObject, { own, tracking, made }: Seen): DiscoveredReport | undefined {
  // Items of a list do not say their kind.
  const object = { ...given, kind };
  const collection = collectionOf(kind, object);
  const { namespace = own, name, uid } = object.metadata;
  if (!collection || !uid) return undefined;
  const secret = kind === "Secret";
  const { spec, inexpressible, cluster } = imported(collection, object);
  const maker = makerOf(object, own, tracking);
  const tenant = namespace === own ? tenantOf(object) : undefined;
  const shown = secret ? field(object, "name") : undefined;
  const prefix = secret ? "data" : "spec";
  return bounded(
    defined({
      collection,
      namespace,
      name,
      uid,
      mark:
        object.metadata.labels?.[MANAGED] === "true"
          ? object.metadata.annotations?.[MARK.uid]?.slice(0, 64)
          : undefined,
      displayName: shown && shown !== name ? shown.slice(0, MAX_PATH) : undefined,
      argoProject: projectOf(collection, object)?.slice(0, MAX_PATH),
      tenant: tenant && TENANT.test(tenant) ? tenant : undefined,
      owner: maker && {
        kind: maker.kind,
        name: maker.name.slice(0, MAX_PATH),
        namespace: maker.namespace.slice(0, MAX_LABEL),
      },
      destination: collection === "applications" ? cluster : undefined,
      labels: pairs(object.metadata.labels, MAX_LABEL),
      // People apply Secrets with kubectl, which keeps all of their data in an annotation: annotations of Secrets are not reported.
      annotations: secret ? undefined : pairs(object.metadata.annotations, MAX_ANNOTATION),
      spec,
      inexpressible: inexpressible.length
        ? inexpressible
            .slice(0, MAX_PATHS)
            .map((path) => (path === "spec" ? path : `${prefix}.${path}`.slice(0, MAX_PATH)))
        : undefined,
      status: statusOf(collection, object, own, made),
    }) as unknown as DiscoveredReport,
  );
}

function imported(collection: Discovered, object: KubeObject): Imported {
  switch (collection) {
    case "applications":
      return importApplication(object);
    case "applicationsets":
      return importApplicationSet(object);
    case "appprojects":
      return importAppProject(object);
    case "repositories":
      return importRepository(object);
    case "clusters":
      return importCluster(object);
  }
}

/** The AppProject by which it is decided in which scope the object is shown. */
function projectOf(collection: Discovered, object: KubeObject): string | undefined {
  const text = (value: unknown) => (typeof value === "string" && value !== "" ? value : undefined);
  if (collection === "applications") return text(object.spec?.project) ?? "default";
  if (collection === "appprojects") return object.metadata.name;
  if (collection !== "applicationsets") return projectOfSecret(object);
  const project = text(object.spec?.template?.spec?.project) ?? "default";
  // A templated project is not a single project.
  return project.includes("{{") ? undefined : project;
}

function statusOf(collection: Discovered, object: KubeObject, own: string, made: Seen["made"]): object | undefined {
  if (collection === "applications") return toStatus(object);
  if (collection === "appprojects") return { name: object.metadata.name };
  if (collection !== "applicationsets") return undefined;
  // Applications are counted by name, which says nothing across namespaces.
  return toSetStatus(object, (object.metadata.namespace ?? own) === own ? made(object.metadata.name) : []);
}

function pairs(all: Record<string, string> | undefined, longest: number): Record<string, string> | undefined {
  const kept = Object.entries(all ?? {})
    // The service needs it to decide where an object is hidden: it is reported however many others there are.
    .sort(([a], [b]) => Number(b === TENANT_MARK) - Number(a === TENANT_MARK))
    .filter(
      ([key, value]) =>
        key !== LAST_APPLIED && key.length <= MAX_KEY && typeof value === "string" && value.length <= longest,
    )
    .slice(0, MAX_PAIRS);
  return kept.length ? Object.fromEntries(kept) : undefined;
}

/** First the list of resources is dropped, then the specification; the rest says that they are missing. */
function bounded(report: DiscoveredReport): DiscoveredReport {
  let next = report;
  if (sizeOf(next) > REPORT_BYTES && Array.isArray(next.status?.resources)) {
    const message = `${next.status.resources.length} resources are too many for one report; look at them in the cluster`;
    const condition = {
      type: "ResourcesNotReported",
      status: "True",
      reason: "ReportTooLarge",
      message,
      lastTransitionTime: "1970-01-01T00:00:00Z",
    };
    const conditions = [...((next.status.conditions as object[] | undefined) ?? []), condition];
    next = { ...next, status: { ...next.status, resources: [], conditions } };
  }
  if (sizeOf(next) > REPORT_BYTES) {
    const { spec: _, ...rest } = next;
    next = { ...rest, inexpressible: ["spec"] };
  }
  if (sizeOf(next) <= REPORT_BYTES) return next;
  const { status: _, annotations, ...rest } = next;
  const mark = annotations?.[TENANT_MARK];
  return mark === undefined ? rest : { ...rest, annotations: { [TENANT_MARK]: mark } };
}

const sizeOf = (report: DiscoveredReport): number => JSON.stringify(report).length;
