import type { Schemas } from "../../domain/nouns.ts";
import type { Row } from "../sql.ts";

export type Summary = Schemas["Summary"];

/** What a summary reads of an object: nothing of spec and status themselves. */
export const SUMMARY_COLUMNS =
  "org, project, id, uid, version, origin, f_owner, f_agent, f_cluster, f_namespace, f_repository, f_sync, f_health, f_revision, f_labels, created_at, updated_at, deletion_requested_at";

/** A row as a Summary. */
export function toSummary(row: Row): Summary {
  const texts = {
    org: row.org || undefined,
    project: row.project || undefined,
    uid: row.uid,
    version: String(row.version),
    origin: row.origin === "managed" ? undefined : row.origin,
    owner: row.f_owner,
    agent: row.f_agent,
    cluster: row.f_cluster,
    namespace: row.f_namespace,
    repository: row.f_repository,
    sync: row.f_sync,
    health: row.f_health,
    revision: row.f_revision,
    labels: Object.keys(row.f_labels ?? {}).length > 0 ? row.f_labels : undefined,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
    deletionRequestedAt: row.deletion_requested_at?.toISOString(),
  };
  return { id: row.id, ...Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== undefined && text !== null)) } as Summary;
}
