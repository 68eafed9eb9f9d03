import type { Database } from "../../store/database/sql.ts";
import { writing } from "../../store/database/writer.ts";
import { type Stored, tryFindByUid, updateObject } from "../../store/objects/objects.ts";

export type Outcome = "Accepted" | "Ignored" | "SignatureInvalid" | "PayloadInvalid" | "Disabled";

export interface Mark {
  outcome: Outcome;
  at: Date;
  repository?: string | undefined;
}

// Anyone who knows an address can call it often with a wrong signature: that must not become as many writes.
const EVERY_MS = 5_000;

interface Entry {
  written: number;
  next?: { mark: Mark; timer: NodeJS.Timeout };
  work: Promise<void>;
}

/** Writes into a webhook's status what came last: at once when it says something new, and then not again for some seconds. */
export class HookMarks {
  readonly #entries = new Map<string, Entry>();
  readonly #db: Database;
  readonly #failed: (error: unknown) => void;
  #closed = false;

  constructor(db: Database, failed: (error: unknown) => void) {
    this.#db = db;
    this.#failed = failed;
  }

  note(hook: Stored, mark: Mark): void {
    if (this.#closed) return;
    const entry = this.#entries.get(hook.uid);
    if (entry?.next) {
      entry.next.mark = mark;
      return;
    }
    if (!entry && says(hook, mark)) return;
    const wait = entry ? entry.written + EVERY_MS - performance.now() : 0;
    if (!entry || wait <= 0) this.#write(hook, mark);
    else entry.next = { mark, timer: setTimeout(() => this.#write(hook, entry.next!.mark), wait).unref() };
  }

  /** Writes what waits to be written. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const entry of this.#entries.values()) clearTimeout(entry.next?.timer);
    await Promise.all([...this.#entries.values()].map(({ work }) => work));
  }

  #write(hook: Stored, mark: Mark): void {
    const { account, uid } = hook;
    const work = writing(this.#db, account, async (w) => {
      const now = await tryFindByUid(w, account, uid);
      if (now?.collection !== "webhooks" || says(now, mark)) return;
      await updateObject(w, { ...now, status: { ...now.status, ...statusOf(now, mark) } });
    }).catch(this.#failed);
    this.#entries.set(uid, { written: performance.now(), work });
    // Webhooks come and go; one that is silent is forgotten.
    setTimeout(() => this.#forget(uid), 2 * EVERY_MS).unref();
  }

  #forget(uid: string): void {
    const entry = this.#entries.get(uid);
    if (entry && !entry.next && performance.now() - entry.written >= EVERY_MS) this.#entries.delete(uid);
  }
}

function statusOf({ status }: Stored, { outcome, at, repository }: Mark): Record<string, unknown> {
  const lastReceivedAt = new Date(Math.floor(at.getTime() / 60_000) * 60_000).toISOString();
  const lastRepository = repository ?? status.lastRepository;
  return { lastReceivedAt, lastOutcome: outcome, ...(lastRepository ? { lastRepository } : {}) };
}

const says = (hook: Stored, mark: Mark): boolean =>
  Object.entries(statusOf(hook, mark)).every(([name, value]) => hook.status[name] === value);
