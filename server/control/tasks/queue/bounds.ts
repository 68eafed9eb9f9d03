import type { Limits } from "../../domain/limits.ts";
import { Problem } from "../../domain/problem.ts";
import type { Scope } from "../../domain/scope.ts";
import type { Sql } from "../../store/database/sql.ts";
import { shapePrefix } from "./shape.ts";

/** A count is used for this long, plus what this replica has queued since. */
const FRESH_MS = 1_000;
/** Below this part of a bound a count may be older: it cannot be reached in between. */
const NEAR = 0.5;
const OLD_MS = 10_000;

interface Count {
  n: number;
  at: number;
}

/**
 * Keeps queues within their bounds. Counting a full queue takes some milliseconds, too long for every task; so a count is kept, what is
 * queued here is added to it, and it is taken again when it grows old or would refuse. Several replicas may together exceed a bound by
 * what they queue within a second.
 */
export class Bounds {
  readonly #limits: Pick<Limits, "queueScope" | "queueAccount">;
  readonly #counts = new Map<string, Count>();

  constructor(limits: Pick<Limits, "queueScope" | "queueAccount">) {
    this.#limits = limits;
  }

  /** Refuses one task more in a scope whose queue is full; else counts it. */
  async admit(sql: Sql, scope: Scope): Promise<void> {
    const prefix = shapePrefix(scope);
    await this.#check(sql, scope.account, prefix, this.#limits.queueScope, "this scope");
    await this.#check(sql, scope.account, "", this.#limits.queueAccount, "the account");
    this.#add(`${scope.account} ${prefix}`);
    this.#add(`${scope.account} `);
  }

  #add(key: string): void {
    const count = this.#counts.get(key);
    if (count) count.n++;
  }

  async #check(sql: Sql, account: string, prefix: string, most: number, where: string): Promise<void> {
    const key = `${account} ${prefix}`;
    let count = this.#counts.get(key);
    const age = count ? Date.now() - count.at : Number.POSITIVE_INFINITY;
    if (!count || age > OLD_MS || (age > FRESH_MS && count.n > most * NEAR) || count.n >= most) {
      count = { n: await countQueued(sql, account, prefix, most), at: Date.now() };
      if (this.#counts.size > 10_000) this.#counts.clear();
      this.#counts.set(key, count);
    }
    if (count.n < most) return;
    throw new Problem(
      "queue_full",
      `${most} tasks wait in ${where} already. Look at why they are not taken, cancel some, or come back when there are fewer.`,
      { retryAfterSeconds: 10 },
    );
  }
}

/** Waiting tasks whose shape begins so, up to a bound: a range of the queue's index. */
async function countQueued(sql: Sql, account: string, prefix: string, most: number): Promise<number> {
  const [row] = await sql.query(
    `select count(*)::int n from (select 1 from tasks where account = $1 and state = 'Queued' and agent_uid is null and shape >= $2 and shape < $3 limit $4) q`,
    // "~" comes after everything that a shape has in it.
    [account, prefix, `${prefix}~`, most],
  );
  return row!.n;
}
