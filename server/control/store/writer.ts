import { Problem } from "../domain/problem.ts";
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
  return db.transaction(async (tx) => {
    const [row] = await tx.query<{ version: number }>("select version from accounts where account = $1 for update", [account]);
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
