import { randomUUID } from "node:crypto";
import { setMaxListeners } from "node:events";
import { run as runGraphile } from "graphile-worker";
import pg from "pg";
import { PgBoss } from "pg-boss";
import type { SessionRow } from "../../server/control/store/identity/sessions.ts";
import { ensureAccount, openStore } from "../../server/control/store/store.ts";
import { completeTaskRow } from "../../server/control/tasks/complete.ts";
import { createAudited } from "../../server/control/tasks/create.ts";
import { Dispatcher } from "../../server/control/tasks/queue/dispatcher.ts";
import { openDelegate } from "../../server/control/testing/sessions.ts";
import type { PostgresServer } from "../servers/postgres.ts";

/** A queue under the same load as the others. */
export interface Contestant {
  name: string;
  /** Queues and does so many tasks; gives the seconds it took. */
  run(n: number): Promise<number>;
  stop(): Promise<void>;
}

const PRODUCERS = 16;
const WORKERS = 16;
const BATCH = 10;
const CONNECTIONS = 16;
const payload = { script: "true" };

const makers: Record<string, (url: string) => Promise<Contestant>> = {
  "bare loop": bare,
  "ours, functions": ours,
  "pg-boss 12": pgBoss,
  "graphile-worker 0.18": graphile,
};

/** Those that are wanted by name, each with a database of its own. */
export async function contestants(postgres: PostgresServer, wanted: (name: string) => boolean): Promise<Contestant[]> {
  const all: Contestant[] = [];
  for (const [name, make] of Object.entries(makers))
    if (wanted(name)) all.push(await make((await postgres.database()).url));
  return all;
}

/** Queues with so many producers while `work` goes on; gives the seconds until `work` is done. */
async function race(n: number, queue: () => Promise<unknown>, work: () => Promise<unknown>): Promise<number> {
  let left = n;
  const from = performance.now();
  const working = work();
  await Promise.all(
    Array.from({ length: PRODUCERS }, async () => {
      while (left-- > 0) await queue();
    }),
  );
  await working;
  return (performance.now() - from) / 1_000;
}

/** What `for update skip locked` itself can do: one table, one statement for each step, nothing else. */
async function bare(url: string): Promise<Contestant> {
  const pool = new pg.Pool({ connectionString: url, max: CONNECTIONS });
  await pool.query(
    "create table jobs (id text primary key, payload jsonb not null, state text not null default 'Queued', worker text, lease_expires_at timestamptz, created_at timestamptz not null default now(), ended_at timestamptz)",
  );
  await pool.query("create index jobs_queue on jobs (created_at) where state = 'Queued'");
  return {
    name: "bare loop",
    async run(n) {
      let ended = 0;
      const worker = async (name: string) => {
        while (ended < n) {
          const { rows } = await pool.query(
            `with next as (select id from jobs where state = 'Queued' order by created_at limit ${BATCH} for update skip locked)
             update jobs j set state = 'Running', worker = $1, lease_expires_at = now() + interval '15 seconds' from next where j.id = next.id returning j.id, j.payload`,
            [name],
          );
          if (rows.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
          await Promise.all(
            rows.map((r) =>
              pool.query("update jobs set state = 'Succeeded', ended_at = now() where id = $1 and worker = $2", [
                r.id,
                name,
              ]),
            ),
          );
          ended += rows.length;
        }
      };
      return race(
        n,
        () => pool.query("insert into jobs (id, payload) values ($1, $2)", [randomUUID(), JSON.stringify(payload)]),
        () => Promise.all(Array.from({ length: WORKERS }, (_, i) => worker(`w${i}`))),
      );
    },
    stop: () => pool.end(),
  };
}

/** The functions that the API calls, without HTTP: audit line, fence, attempts, fairness and wake-ups as ever. */
async function ours(url: string): Promise<Contestant> {
  const db = await openStore({ url, poolSize: CONNECTIONS });
  await ensureAccount(db, "a");
  const scope = { account: "a", org: "", project: "" };
  const sessions = await Promise.all(
    Array.from({ length: WORKERS }, (_, i) => openDelegate(db, `w${i}`, scope, { capacity: 1_000 })),
  );
  const dispatcher = new Dispatcher(db, "a", (error) => {
    throw error;
  });
  const task = {
    ...scope,
    kind: "shell.run",
    params: payload,
    selectors: [],
    timeoutSeconds: 600,
    maxAttempts: 3,
    idempotent: false,
  };
  const line = {
    ...scope,
    actor: "key:bench",
    address: "127.0.0.1",
    operation: "createTask",
    outcome: "accepted" as const,
    request: randomUUID(),
  };
  return {
    name: "ours, functions",
    async run(n) {
      let ended = 0;
      const stop = new AbortController();
      setMaxListeners(WORKERS + 1, stop.signal);
      const worker = async (s: SessionRow) => {
        while (ended < n) {
          const { tasks } = await dispatcher.ask({ session: s, free: BATCH }, stop.signal);
          await Promise.all(tasks.map((t) => completeTaskRow(db, s, t.task, { fence: t.fence, outcome: "succeeded" })));
          ended += tasks.length;
          if (ended >= n) stop.abort();
        }
      };
      return race(
        n,
        () => createAudited(db, task, line),
        () => Promise.all(sessions.map(worker)),
      );
    },
    async stop() {
      await dispatcher.close();
      await db.close();
    },
  };
}

async function pgBoss(url: string): Promise<Contestant> {
  const boss = new PgBoss({ connectionString: url, max: CONNECTIONS, supervise: false, schedule: false });
  boss.on("error", (error) => console.error("pg-boss:", error.message));
  await boss.start();
  await boss.createQueue("q");
  return {
    name: "pg-boss 12",
    async run(n) {
      let ended = 0;
      const worker = async () => {
        while (ended < n) {
          const jobs = await boss.fetch("q", { batchSize: BATCH });
          if (jobs.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
          await Promise.all(jobs.map((job) => boss.complete("q", job.id)));
          ended += jobs.length;
        }
      };
      return race(
        n,
        () => boss.send("q", payload),
        () => Promise.all(Array.from({ length: WORKERS }, worker)),
      );
    },
    stop: () => boss.stop({ graceful: false }),
  };
}

/** Its own runner, as it is meant to be used: it has no call for a single fetch. */
async function graphile(url: string): Promise<Contestant> {
  const pool = new pg.Pool({ connectionString: url, max: CONNECTIONS });
  pool.on("error", () => {});
  let ended = () => {};
  const quiet = { error: console.error, warning: () => {}, info: () => {}, debug: () => {} };
  const { Logger } = await import("graphile-worker");
  const runner = await runGraphile({
    pgPool: pool,
    concurrency: WORKERS,
    pollInterval: 100,
    noHandleSignals: true,
    logger: new Logger(() => (level, message) => quiet[level](message)),
    taskList: { job: async () => ended() },
  });
  return {
    name: "graphile-worker 0.18",
    async run(n) {
      let left = n;
      const done = new Promise<void>((resolve) => {
        ended = () => {
          if (--left === 0) resolve();
        };
      });
      return race(
        n,
        () => runner.addJob("job", payload),
        () => done,
      );
    },
    async stop() {
      await runner.stop();
      await pool.end();
    },
  };
}
