import { canonical } from "../../base/json/canonical.ts";
import type { Database } from "../store/database/sql.ts";
import { type Writer, writing } from "../store/database/writer.ts";
import { type SessionRow, touchWorkers } from "../store/identity/sessions.ts";
import type { WorkerRow } from "../store/identity/workers.ts";
import { type Stored, tryFindByUid, updateObject } from "../store/objects/objects.ts";

/** Agents beat every 5 s and poll; three silent beats mean away. */
export const AWAY_SECONDS = 15;

/** Contacts are written down together, so often: little beside the 15 s after which a silent worker counts as away. */
const WRITE_MS = 500;

/**
 * Who was heard of. Thousands of workers that beat every 5 s would be hundreds of commits a second, each of them waiting for the disk;
 * written together they are two. What a replica that is killed had not written is half a second of a worker's silence.
 */
export class Contacts {
  readonly #db: Database;
  readonly #failed: (error: unknown) => void;
  #seen = new Map<string, SessionRow>();
  #writing: Promise<void> | undefined;

  constructor(db: Database, failed: (error: unknown) => void) {
    this.#db = db;
    this.#failed = failed;
  }

  add(session: SessionRow): void {
    if (!session.quiet) return;
    this.#seen.set(session.session, session);
    this.#writing ??= this.#write();
  }

  /** Everything added is written. */
  async flush(): Promise<void> {
    while (this.#writing) await this.#writing;
  }

  async #write(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, WRITE_MS));
    const seen = this.#seen;
    this.#seen = new Map();
    const accounts = new Set([...seen.values()].map((s) => s.account));
    for (const account of accounts)
      await touchWorkers(
        this.#db,
        account,
        [...seen.values()].filter((s) => s.account === account),
      ).catch(this.#failed);
    this.#writing = this.#seen.size > 0 ? this.#write() : undefined;
  }
}

/** Marks a worker as connected, and its agent or delegate with it; an event only when that is news. */
export async function setConnected(
  w: Writer,
  object: Stored,
  worker: Pick<WorkerRow, "worker">,
  facts: Record<string, unknown> = {},
): Promise<void> {
  await w.query(
    "update workers set connected = true, last_seen_at = outpost_now() where account = $1 and worker = $2",
    [w.account, worker.worker],
  );
  const status = { ...object.status, ...facts, connected: true };
  if (canonical(status) !== canonical(object.status))
    await updateObject(w, { ...object, status: { ...status, lastSeenAt: new Date().toISOString() } });
}

/** Marks workers away that have been silent for too long, and what they are workers of when none is left. What they reported stays, with its age. */
export async function markAway(db: Database, account: string): Promise<number> {
  const silent = await db.query(
    `select 1 from workers where account = $1 and connected and last_seen_at < outpost_now() - make_interval(secs => ${AWAY_SECONDS}) limit 1`,
    [account],
  );
  if (silent.length === 0) return 0;
  return writing(db, account, async (w) => {
    const away = await w.query(
      `update workers set connected = false where account = $1 and connected and last_seen_at < outpost_now() - make_interval(secs => ${AWAY_SECONDS}) returning object_uid, last_seen_at`,
      [account],
    );
    for (const uid of new Set(away.map((r) => r.object_uid as string))) {
      const left = await w.query("select 1 from workers where account = $1 and object_uid = $2 and connected limit 1", [
        account,
        uid,
      ]);
      const object = left.length === 0 ? await tryFindByUid(w, account, uid) : undefined;
      const seen = Math.max(...away.filter((r) => r.object_uid === uid).map((r) => Number(r.last_seen_at)));
      if (object?.status.connected)
        await updateObject(w, {
          ...object,
          status: { ...object.status, connected: false, lastSeenAt: new Date(seen).toISOString() },
        });
    }
    return away.length;
  });
}
