import pg from "pg";
import type { Database, FakeClock, Row, Sql, Tx } from "./sql.ts";
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
  const listener = new Listener(options.url, wakers, report);
  await listener.start();

  const query = async <R extends Row>(text: string, params: unknown[] = []): Promise<R[]> => (await pool.query(text, params)).rows as R[];
  return {
    kind: "postgres",
    query,
    async transaction(work, { snapshot = false } = {}) {
      for (let attempt = 1; ; attempt++) {
        try {
          return await once(pool, work, snapshot, options.clock);
        } catch (error) {
          if (attempt >= TRIES || !RETRYABLE.has((error as { code?: string }).code ?? "")) throw error;
        }
      }
    },
    listen: (account, topic, wake) => wakers.add(account, topic, wake),
    async close() {
      await listener.stop();
      await pool.end();
    },
  };
}

async function once<T>(pool: pg.Pool, work: (tx: Tx) => Promise<T>, snapshot: boolean, clock?: FakeClock): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  try {
    await client.query(snapshot ? "begin isolation level repeatable read read only" : "begin");
    const topics = new Set<string>();
    const sql: Sql = { query: async (text, params = []) => (await client.query(text, params)).rows };
    const at = clock?.();
    if (at) await sql.query("select set_config('outpost.now', $1, true)", [at.toISOString()]);
    const result = await work({ ...sql, notify: (account, topic) => void topics.add(`${account} ${topic}`) });
    if (topics.size > 0) await sql.query("select pg_notify($1, t) from unnest($2::text[]) t", [CHANNEL, [...topics]]);
    await client.query("commit");
    return result;
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

/** One connection that listens; it comes back by itself, and then wakes everybody. */
class Listener {
  readonly #url: string;
  readonly #wakers: Wakers;
  readonly #report: (error: Error) => void;
  #client: pg.Client | undefined;
  #retry: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(url: string, wakers: Wakers, report: (error: Error) => void) {
    this.#url = url;
    this.#wakers = wakers;
    this.#report = report;
  }

  async start(): Promise<void> {
    const client = new pg.Client({ connectionString: this.#url, connectionTimeoutMillis: 5_000, keepAlive: true });
    client.on("notification", ({ payload = "" }) => {
      const space = payload.indexOf(" ");
      this.#wakers.wake(payload.slice(0, space), payload.slice(space + 1));
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
