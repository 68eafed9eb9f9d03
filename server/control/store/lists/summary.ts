import type { Facets } from "../../domain/lists/predicate.ts";
import type { Schemas } from "../../domain/nouns.ts";
import type { Row } from "../database/sql.ts";

export type Summary = Schemas["Summary"];

/** What a summary reads of an object: nothing of spec and status themselves. */
export const SUMMARY_COLUMNS =
  "org, project, id, version, origin, f_owner, f_agent, f_cluster, f_namespace, f_repository, f_service, f_environment, f_sync, f_health, f_revision, f_labels, created_at, updated_at, deletion_requested_at";

/** A row as a Summary. */
export const toSummary = (row: Row): Summary =>
  summary({
    id: row.id,
    org: row.org,
    project: row.project,
    version: String(row.version),
    origin: row.origin,
    owner: row.f_owner,
    agent: row.f_agent,
    cluster: row.f_cluster,
    namespace: row.f_namespace,
    repository: row.f_repository,
    service: row.f_service,
    environment: row.f_environment,
    sync: row.f_sync,
    health: row.f_health,
    revision: row.f_revision,
    labels: row.f_labels,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
    deletionRequestedAt: row.deletion_requested_at?.toISOString(),
  });

/** An object of an event, and what filters see of it, as a Summary. */
export function summaryOf(object: Record<string, any>, facets: Facets): Summary {
  const { version, spec, status, createdAt, updatedAt, deletionRequestedAt } = object;
  const destination = spec.destination as { namespace?: string } | undefined;
  const sync = status.sync as { revision?: string } | undefined;
  const texts = {
    version,
    namespace: destination?.namespace,
    revision: sync?.revision,
    createdAt,
    updatedAt,
    deletionRequestedAt,
  };
  return summary({ ...facets, ...texts });
}

/** Leaves out what an object does not have, and what most objects have. */
function summary({ id, ...fields }: Record<string, any>): Summary {
  const isShown = ([name, value]: [string, unknown]) => {
    if (value === undefined || value === null || value === "") return false;
    return name === "labels" ? Object.keys(value).length > 0 : !(name === "origin" && value === "managed");
  };
  return { id, ...Object.fromEntries(Object.entries(fields).filter(isShown)) } as Summary;
}
