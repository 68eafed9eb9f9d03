import { randomBytes } from "node:crypto";
import type { Scope } from "../domain/scope.ts";
import { agentTopic } from "../store/deliveries.ts";
import type { Tx } from "../store/sql.ts";
import { type TaskRow, toTask } from "./rows.ts";

export interface NewTask extends Scope {
  kind: string;
  params: Record<string, unknown>;
  selectors: readonly string[];
  /** The agent that must run it; none for any fitting delegate. */
  agentUid?: string | undefined;
  timeoutSeconds: number;
  maxAttempts: number;
  idempotent: boolean;
}

/** Queues a task and wakes who may take it. */
export async function createTaskRow(tx: Tx, t: NewTask): Promise<TaskRow> {
  const rows = await tx.query(
    `insert into tasks (account, id, org, project, kind, params, selectors, agent_uid, timeout_seconds, max_attempts, idempotent, state, created_at)
     values ($1, $2, $3, $4, $5, $6::jsonb, $7::text[], $8, $9, $10, $11, 'Queued', outpost_now()) returning *`,
    [
      t.account,
      `t-${randomBytes(10).toString("hex")}`,
      t.org,
      t.project,
      t.kind,
      JSON.stringify(t.params),
      [...t.selectors],
      t.agentUid ?? null,
      t.timeoutSeconds,
      t.maxAttempts,
      t.idempotent,
    ],
  );
  tx.notify(t.account, t.agentUid ? agentTopic(t.agentUid) : "tasks");
  return toTask(rows[0]!);
}
