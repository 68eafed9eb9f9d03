import type { Schemas } from "../../domain/nouns.ts";
import type { Row } from "../../store/database/sql.ts";

/** A line of the audit trail on the wire, in the export, and in the files that the sweeper writes. */
export function viewAudit(r: Row): Schemas["AuditEntry"] {
  return {
    seq: Number(r.seq),
    at: r.at.toISOString(),
    actor: r.actor,
    ...(r.address ? { address: r.address } : {}),
    operation: r.operation,
    ...(r.org ? { org: r.org } : {}),
    ...(r.project ? { project: r.project } : {}),
    ...(r.target ? { target: r.target } : {}),
    outcome: r.outcome,
    ...(r.code ? { code: r.code } : {}),
    ...(r.request ? { request: r.request } : {}),
    ...(r.changes ? { changes: r.changes } : {}),
  };
}
