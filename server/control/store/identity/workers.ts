import type { Scope } from "../../domain/scope.ts";
import type { Row, Sql } from "../database/sql.ts";

/** The identity of an agent, or of one replica of a delegate. */
export interface WorkerRow extends Scope {
  worker: string;
  kind: "agent" | "delegate";
  objectUid: string;
  id: string;
  signKey: string;
  sealKey: string;
  instance: string;
  clusterUid: string | undefined;
  tokenId: string;
  version: string;
  capabilities: string[];
  /** Kinds it cannot run, and what it lacks for each. */
  lacking: { kind: string; why: string }[];
  /** Its own, beside those of its delegate. */
  tags: string[];
  /** How it was installed. */
  type: string | undefined;
  /** What it has left, as it said last. */
  headroom: { cpuPercent?: number; memoryMiB?: number; diskMiB?: number; full?: string };
  capacity: number;
  draining: boolean;
  connected: boolean;
  epoch: number;
  enrolledAt: Date;
  lastSeenAt: Date | undefined;
}

export const toWorker = (r: Row): WorkerRow => ({
  account: r.account,
  org: r.org,
  project: r.project,
  worker: r.worker,
  kind: r.kind,
  objectUid: r.object_uid,
  id: r.id,
  signKey: r.sign_key,
  sealKey: r.seal_key,
  instance: r.instance,
  clusterUid: r.cluster_uid ?? undefined,
  tokenId: r.token_id,
  version: r.version,
  capabilities: r.capabilities,
  lacking: r.lacking,
  tags: r.tags,
  type: r.type ?? undefined,
  headroom: r.headroom,
  capacity: r.capacity,
  draining: r.draining,
  connected: r.connected,
  epoch: Number(r.epoch),
  enrolledAt: r.enrolled_at,
  lastSeenAt: r.last_seen_at ?? undefined,
});

export type NewWorker = Scope &
  Pick<
    WorkerRow,
    "worker" | "kind" | "objectUid" | "id" | "signKey" | "sealKey" | "instance" | "clusterUid" | "tokenId" | "version"
  >;

export async function insertWorker(sql: Sql, w: NewWorker): Promise<WorkerRow> {
  const rows = await sql.query(
    `insert into workers (account, org, project, worker, kind, object_uid, id, sign_key, seal_key, instance, cluster_uid, token_id, version, enrolled_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, outpost_now()) returning *`,
    [
      w.account,
      w.org,
      w.project,
      w.worker,
      w.kind,
      w.objectUid,
      w.id,
      w.signKey,
      w.sealKey,
      w.instance,
      w.clusterUid ?? null,
      w.tokenId,
      w.version,
    ],
  );
  return toWorker(rows[0]!);
}

export async function tryFindWorker(sql: Sql, account: string, worker: string): Promise<WorkerRow | undefined> {
  const rows = await sql.query("select * from workers where account = $1 and worker = $2", [account, worker]);
  return rows[0] && toWorker(rows[0]);
}

export async function workersOf(sql: Sql, account: string, objectUids: readonly string[]): Promise<WorkerRow[]> {
  if (objectUids.length === 0) return [];
  return (
    await sql.query("select * from workers where account = $1 and object_uid = any($2::text[]) order by worker", [
      account,
      [...objectUids],
    ])
  ).map(toWorker);
}

/** Ends identities with their sessions: the agent or delegate is gone, or has enrolled again. */
export async function removeWorkers(sql: Sql, account: string, workers: readonly string[]): Promise<void> {
  await sql.query("delete from sessions where account = $1 and worker = any($2::text[])", [account, [...workers]]);
  await sql.query("delete from workers where account = $1 and worker = any($2::text[])", [account, [...workers]]);
}

/** Ends the sessions of all workers that enrolled with a token; gives their number. Their rows stay, so that they get the reason. */
export async function endWorkersOf(sql: Sql, account: string, tokenId: string): Promise<number> {
  const rows = await sql.query("select worker from workers where account = $1 and token_id = $2", [account, tokenId]);
  await sql.query("delete from sessions where account = $1 and worker = any($2::text[])", [
    account,
    rows.map((r) => r.worker),
  ]);
  return rows.length;
}

export async function bindCluster(sql: Sql, account: string, worker: string, clusterUid: string): Promise<void> {
  await sql.query("update workers set cluster_uid = $3 where account = $1 and worker = $2", [
    account,
    worker,
    clusterUid,
  ]);
}
