import type { Database } from "../store/database/sql.ts";
import { createTaskRow } from "./create.ts";

export const CHANGED = "repository.changed";
const TELL = "discovered.tell";
/** The agent only writes it down. */
const TIMEOUT_SECONDS = 20;
/** By then the agent has found out by itself. */
const STALE = "interval '10 minutes'";

export interface Changed {
  urls: readonly string[];
  refs?: readonly string[];
  revision?: string;
}

/** Asks an agent to tell of everything that it finds once more, and does not wait for it. */
export async function askForAll(db: Database, account: string, agentUid: string): Promise<void> {
  await db.transaction(async (tx) => {
    const [agent] = await tx.query("select org, project from objects where account = $1 and uid = $2", [
      account,
      agentUid,
    ]);
    if (agent)
      await createTaskRow(tx, {
        account,
        org: agent.org,
        project: agent.project,
        kind: TELL,
        params: {},
        selectors: [],
        agentUid,
        timeoutSeconds: TIMEOUT_SECONDS,
        maxAttempts: 2,
        idempotent: true,
      });
  });
}

/**
 * Tells agents that repositories have changed, and does not wait for them. A hint that waits already is not queued twice: the agent
 * looks after it was told, so it sees the newest commit. Returns how many were told.
 */
export async function tellAgents(
  db: Database,
  account: string,
  agents: readonly string[],
  changed: Changed,
): Promise<number> {
  if (agents.length === 0) return 0;
  return db.transaction(async (tx) => {
    const rows = await tx.query(
      `select uid, org, project from objects where account = $1 and collection = 'agents' and uid = any($2::text[]) and status->>'enrolledAt' is not null`,
      [account, [...agents]],
    );
    for (const { uid, org, project } of rows) {
      const waiting = "account = $1 and agent_uid = $2 and state = 'Queued' and kind = $3";
      await tx.query(`delete from tasks where ${waiting} and created_at < outpost_now() - ${STALE}`, [
        account,
        uid,
        CHANGED,
      ]);
      const same = await tx.query(`select 1 from tasks where ${waiting} and params->'urls' = $4::jsonb limit 1`, [
        account,
        uid,
        CHANGED,
        JSON.stringify(changed.urls),
      ]);
      if (same.length > 0) continue;
      await createTaskRow(tx, {
        account,
        org,
        project,
        kind: CHANGED,
        params: { ...changed },
        selectors: [],
        agentUid: uid,
        timeoutSeconds: TIMEOUT_SECONDS,
        maxAttempts: 2,
        idempotent: true,
      });
    }
    return rows.length;
  });
}
