import { type Collection, isDiscovered } from "../../domain/nouns.ts";
import type { Sql } from "../../store/database/sql.ts";
import { type WorkerRow, workersOf } from "../../store/identity/workers.ts";
import type { Stored } from "../../store/objects/objects.ts";
import { countsShown } from "../../store/objects/sightings.ts";
import { withOwners } from "../discovered/owners.ts";

/**
 * Adds the addresses of owners to what is generated, and to agents and delegates what changes every few seconds, as the time of the last contact. It is read when asked for and never
 * stored with the object: hundreds of workers would fill the watch log with heartbeats, and every person's If-Match would fail.
 */
export async function withLiveStatus(sql: Sql, collection: Collection, objects: Stored[]): Promise<Stored[]> {
  if (isDiscovered(collection)) return withOwners(sql, objects);
  if ((collection !== "agents" && collection !== "delegates") || objects.length === 0) return objects;
  const workers = await workersOf(
    sql,
    objects[0]!.account,
    objects.map((o) => o.uid),
  );
  const running = collection === "delegates" ? await runningOf(sql, workers) : new Map<string, number>();
  const shown =
    collection === "agents"
      ? await countsShown(
          sql,
          objects[0]!.account,
          objects.map((o) => o.uid),
        )
      : new Map();
  return objects.map((o) => {
    const mine = workers.filter((w) => w.objectUid === o.uid);
    const seen = mine.map((w) => w.lastSeenAt).filter((d) => d !== undefined);
    const lastSeenAt = seen.length ? new Date(Math.max(...seen.map(Number))).toISOString() : o.status.lastSeenAt;
    const instances =
      collection === "delegates" ? { instances: mine.map((w) => instance(w, running.get(w.worker) ?? 0)) } : {};
    const found = shown.has(o.uid) ? { discovered: shown.get(o.uid) } : {};
    return { ...o, status: { ...o.status, ...(lastSeenAt ? { lastSeenAt } : {}), ...instances, ...found } };
  });
}

function instance(w: WorkerRow, running: number) {
  return {
    name: w.instance,
    connected: w.connected,
    version: w.version,
    ...(w.lastSeenAt ? { lastHeartbeatAt: w.lastSeenAt.toISOString() } : {}),
    running,
    capabilities: w.capabilities,
    ...(w.lacking.length ? { lacking: w.lacking } : {}),
    ...(w.tags.length ? { tags: w.tags } : {}),
    ...(w.type ? { type: w.type } : {}),
    ...(Object.keys(w.headroom).length ? { headroom: w.headroom } : {}),
    draining: w.draining,
  };
}

async function runningOf(sql: Sql, workers: WorkerRow[]): Promise<Map<string, number>> {
  if (workers.length === 0) return new Map();
  const rows = await sql.query(
    "select lease_worker, count(*)::int n from tasks where account = $1 and state = 'Running' and lease_worker = any($2::text[]) group by 1",
    [workers[0]!.account, workers.map((w) => w.worker)],
  );
  return new Map(rows.map((r) => [r.lease_worker, r.n]));
}
