import { createHash, randomBytes } from "node:crypto";
import pg from "pg";
import type { Database, FakeClock, Row, Sql, Tx } from "./sql.ts";
import { analyseGrown } from "./upkeep.ts";
import { Wakers } from "./wake.ts";

// bigint columns hold versions, fences and sequence numbers: all far below 2^53.
pg.types.setTypeParser(pg.types.builtins.INT8, Number);

const CHANNEL = "outpost";
/** Deadlock, serialisation failure: PostgreSQL undid the transaction and asks for another try. */
const RETRYABLE = new Set(["40001", "40P01"]);
const TRIES = 5;

export interface PostgresOptions {
  url: string;
  poolSize?: number;
  clock?: FakeClock | undefined;
  onError?: (error: Error) => void;
}

/** A PostgreSQL server, shared by any number of replicas. */
export async function openPostgres(options: PostgresOptions): Promise<Database> {
  const report = options.onError ?? (() => {});
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.poolSize ?? 16,
    connectionTimeoutMillis: 5_000,
    // A statement that runs for 30 s is a defect; it must not hold an account's lock for longer.
    statement_timeout: 30_000,
    idle_in_transaction_session_timeout: 30_000,
  });
  pool.on("error", report);
  const wakers = new Wakers();
  const replica = randomBytes(6).toString("hex");
  const listener = new Listener(options.url, replica, wakers, report);
  await listener.start();
  const announcer = new Announcer(pool, replica, report);
  const notify = (account: string, topic: string) => {
    wakers.wake(account, topic);
    announcer.add(account, topic);
  };

  const plans = new Plans();
  const query = async <R extends Row>(text: string, params: unknown[] = []): Promise<R[]> => {
    try {
      return (await pool.query(plans.of(text, params))).rows as R[];
    } catch (error) {
      if (!isStalePlan(error)) throw error;
      plans.forget(text);
      return (await pool.query(text, params)).rows as R[];
    }
  };
  return {
    kind: "postgres",
    query,
    async transaction(work, { snapshot = false } = {}) {
      for (let attempt = 1; ; attempt++) {
        try {
          const { result, topics } = await once(pool, plans, work, snapshot, options.clock);
          for (const [account, topic] of topics) notify(account, topic);
          return result;
        } catch (error) {
          if (isStalePlan(error)) plans.forgetAll();
          else if (!RETRYABLE.has((error as { code?: string }).code ?? "")) throw error;
          if (attempt >= TRIES) throw error;
        }
      }
    },
    notify,
    listen: (account, topic, wake) => wakers.add(account, topic, wake),
    listenAll: (account, prefix, wake) => wakers.addAll(account, prefix, wake),
    upkeep: () => analyseGrown({ query }),
    async close() {
      await announcer.flush();
      await listener.stop();
      await pool.end();
    },
  };
}

async function once<T>(
  pool: pg.Pool,
  plans: Plans,
  work: (tx: Tx) => Promise<T>,
  snapshot: boolean,
  clock?: FakeClock,
): Promise<{ result: T; topics: [string, string][] }> {
  const client = await pool.connect();
  let broken: Error | undefined;
  try {
    await client.query(snapshot ? "begin isolation level repeatable read read only" : "begin");
    const topics: [string, string][] = [];
    const sql: Sql = { query: async (text, params = []) => (await client.query(plans.of(text, params))).rows };
    const at = clock?.();
    if (at) await sql.query("select set_config('outpost.now', $1, true)", [at.toISOString()]);
    const result = await work({ ...sql, notify: (account, topic) => void topics.push([account, topic]) });
    await client.query("commit");
    return { result, topics };
  } catch (error) {
    // A connection that cannot even roll back is thrown away.
    await client.query("rollback").catch((failure: Error) => {
      broken = failure;
    });
    throw error;
  } finally {
    client.release(broken);
  }
}

/** A statement is worth a plan of its own when it comes so often. */
const OFTEN = 10;
const MOST_PLANS = 300;

/**
 * Names for statements that come often: PostgreSQL parses and plans a named one once for each connection. For the statements that give
 * out and end tasks this is more than half of their time. Texts that differ at each call are counted and stay unnamed.
 */
class Plans {
  readonly #seen = new Map<string, number>();
  readonly #names = new Map<string, string>();
  #round = 0;

  of(text: string, values: unknown[]): { text: string; values: unknown[]; name?: string } {
    const name = this.#names.get(text) ?? this.#count(text);
    return name === undefined ? { text, values } : { name, text, values };
  }

  /** A newer replica has changed a table: plans that answer with all its columns are refused from then on. */
  forget(text: string): void {
    this.#names.delete(text);
    this.#seen.set(text, 0);
    this.#round++;
  }

  forgetAll(): void {
    for (const text of [...this.#names.keys()]) this.forget(text);
  }

  #count(text: string): string | undefined {
    const n = (this.#seen.get(text) ?? 0) + 1;
    if (this.#seen.size > 2_000) this.#seen.clear();
    this.#seen.set(text, n);
    if (n < OFTEN || this.#names.size >= MOST_PLANS) return undefined;
    const name = `p${this.#round}_${createHash("sha256").update(text).digest("hex").slice(0, 24)}`;
    this.#names.set(text, name);
    return name;
  }
}

const isStalePlan = (error: unknown): boolean =>
  (error as { code?: string }).code === "0A000" && /cached plan/.test((error as Error).message);

/** A notification's payload may have 8,000 bytes. */
const PAYLOAD = 7_900;
const PACE_MS = 10;

/**
 * Notifies the other replicas of commits. A NOTIFY inside a transaction makes all commits of the database wait for each
 * other; so topics are gathered and sent afterwards, one statement at a time: at once when nothing is under way, else with the
 * next. Notifications lost when this replica dies in between are made up for: listeners look again every few seconds.
 */
class Announcer {
  readonly #pool: pg.Pool;
  readonly #replica: string;
  readonly #report: (error: Error) => void;
  #topics = new Set<string>();
  #sending: Promise<void> | undefined;
  #sent = 0;

  constructor(pool: pg.Pool, replica: string, report: (error: Error) => void) {
    this.#pool = pool;
    this.#replica = replica;
    this.#report = report;
  }

  add(account: string, topic: string): void {
    this.#topics.add(`${account} ${topic}`);
    this.#sending ??= this.#send();
  }

  async flush(): Promise<void> {
    await this.#sending;
  }

  async #send(): Promise<void> {
    while (this.#topics.size > 0) {
      // At once after a pause, at least until the end of this turn; under load so far apart, as each one is a commit.
      const early = PACE_MS - (performance.now() - this.#sent);
      await new Promise<void>((resolve) => (early > 0 ? setTimeout(resolve, early) : setImmediate(resolve)));
      this.#sent = performance.now();
      const payloads = pack(`${this.#replica}|`, this.#topics);
      this.#topics = new Set();
      await this.#pool
        .query("select pg_notify($1, t) from unnest($2::text[]) t", [CHANNEL, payloads])
        .catch(this.#report);
    }
    this.#sending = undefined;
  }
}

function pack(prefix: string, topics: Iterable<string>): string[] {
  const payloads: string[] = [];
  let text = "";
  for (const topic of topics) {
    if (text && prefix.length + text.length + topic.length + 1 > PAYLOAD) {
      payloads.push(prefix + text);
      text = "";
    }
    text += text ? `\n${topic}` : topic;
  }
  return [...payloads, prefix + text];
}

/** One connection that listens; it comes back by itself, and then wakes everybody. */
class Listener {
  readonly #url: string;
  readonly #replica: string;
  readonly #wakers: Wakers;
  readonly #report: (error: Error) => void;
  #client: pg.Client | undefined;
  #retry: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(url: string, replica: string, wakers: Wakers, report: (error: Error) => void) {
    this.#url = url;
    this.#replica = replica;
    this.#wakers = wakers;
    this.#report = report;
  }

  async start(): Promise<void> {
    const client = new pg.Client({ connectionString: this.#url, connectionTimeoutMillis: 5_000, keepAlive: true });
    client.on("notification", ({ payload = "" }) => {
      const bar = payload.indexOf("|");
      // Our own were woken at the commit. A replica of the version before writes one topic and no name.
      if (bar > 0 && payload.slice(0, bar) === this.#replica) return;
      for (const line of payload.slice(bar + 1).split("\n")) {
        const space = line.indexOf(" ");
        this.#wakers.wake(line.slice(0, space), line.slice(space + 1));
      }
    });
    client.on("error", (error) => this.#lost(client, error));
    client.on("end", () => this.#lost(client));
    await client.connect();
    await client.query(`listen ${CHANNEL}`);
    this.#client = client;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#retry);
    await this.#client?.end().catch(() => {});
  }

  #lost(client: pg.Client, error?: Error): void {
    if (this.#stopped || (this.#client !== undefined && this.#client !== client) || this.#retry) return;
    if (error) this.#report(error);
    this.#client = undefined;
    client.end().catch(() => {});
    // Waiters look by themselves every few seconds, so one second without notifications costs only delay.
    this.#retry = setTimeout(() => {
      this.#retry = undefined;
      this.start().then(
        () => this.#wakers.wakeAll(),
        (failure: Error) => this.#lost(client, failure),
      );
    }, 1_000);
  }
}
