import { Problem } from "../../domain/problem.ts";
import type { Database, Tx } from "./sql.ts";

/**
 * A transaction that changes an account's objects. It holds the lock on the account's row from its first statement to its commit,
 * so that versions are given out in the order of the commits: a watcher that has seen version n can never be shown a smaller one
 * later, and sees every one. It also makes read-modify-write of any object safe, and no two writers can deadlock, because all take
 * this lock first. The price is one writer an account at a time: a transaction is two to five statements, about a millisecond.
 */
export interface Writer extends Tx {
  readonly account: string;
  /** The version for the next event. */
  nextVersion(): number;
}

export async function writing<T>(db: Database, account: string, work: (writer: Writer) => Promise<T>): Promise<T> {
  return inLine(db, account, () => write(db, account, work));
}

/** The end of the line of each account's writers in this process. */
const lines = new WeakMap<Database, Map<string, Promise<unknown>>>();

/**
 * One after the other, before a connection is taken: sixteen writers that wait for the account's lock would hold all connections of the
 * pool, and what needs no lock, as heartbeats, would wait with them.
 */
async function inLine<T>(db: Database, account: string, work: () => Promise<T>): Promise<T> {
  const line = lines.get(db) ?? new Map<string, Promise<unknown>>();
  lines.set(db, line);
  const before = line.get(account) ?? Promise.resolve();
  const mine = before.then(work, work);
  line.set(account, mine);
  try {
    return await mine;
  } finally {
    if (line.get(account) === mine) line.delete(account);
  }
}

async function write<T>(db: Database, account: string, work: (writer: Writer) => Promise<T>): Promise<T> {
  return db.transaction(async (tx) => {
    const [row] = await tx.query<{ version: number }>("select version from accounts where account = $1 for update", [
      account,
    ]);
    if (!row) throw new Problem("unauthenticated", "The account does not exist.");
    const before = Number(row.version);
    let version = before;
    const writer: Writer = { account, query: tx.query, notify: tx.notify, nextVersion: () => ++version };
    const result = await work(writer);
    if (version !== before) {
      await tx.query("update accounts set version = $2 where account = $1", [account, version]);
      tx.notify(account, "events");
    }
    return result;
  });
}
