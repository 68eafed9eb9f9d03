import { stillValid } from "../../access/authenticate.ts";
import type { Scope } from "../../domain/scope.ts";
import { artifactsOf } from "../../store/artifacts.ts";
import type { Row } from "../../store/database/sql.ts";
import { toTask, viewTask } from "../../tasks/rows.ts";
import { EventStream } from "../http/stream.ts";
import { checkScopeExists } from "../nouns/find.ts";
import type { Services } from "../services.ts";
import type { Call, Handler } from "../typed.ts";

const CHECK_MS = 2_000;
const BEAT_MS = 10_000;
/** All open tasks are compared with what was sent: this finds changes that another replica could not announce. */
const COMPARE_MS = 30_000;
/** Changes within this time are sent as one. */
const GATHER_MS = 100;
const PAGE = 200;

/**
 * Follows the tasks of a scope. Nothing is written for it: which tasks have changed comes from the wake-ups that every change sends
 * anyway, and a task that changed five times before it is read is sent once. So watchers cost tasks nothing, however many there are.
 */
export const watchTasks =
  (s: Services): Handler<"watchTasks"> =>
  async (call) => {
    await checkScopeExists(s.db, call.scope);
    return { status: 200, stream: (res) => follow(s, call, new EventStream(res)) };
  };

async function follow(s: Services, call: Call<"watchTasks">, out: EventStream): Promise<void> {
  const { account } = call.scope;
  const ends = Date.now() + (call.query.timeoutSeconds ?? 600) * 1_000;
  const changes = new Changes(s, account);
  s.metrics.watchers.inc();
  try {
    // The last sent state of each open task; wake-ups are gathered from before the first look.
    const told = new Map<string, string>();
    await tellOpen(s, call.scope, told, out);
    await out.event(undefined, "bookmark");
    let [checked, compared, spoken] = [Date.now(), Date.now(), Date.now()];
    while (!call.signal.aborted && !out.gone && Date.now() < ends) {
      const keys = await changes.wait(Math.min(CHECK_MS, Math.max(ends - Date.now(), 1)), call.signal);
      if (keys || Date.now() - checked >= CHECK_MS) {
        if (!(await stillValid(s.db, call.caller!))) return;
        checked = Date.now();
      }
      const ids = changes.take();
      if (Date.now() - compared >= COMPARE_MS) {
        for (const id of await moved(s, call.scope, told)) ids.add(id);
        compared = Date.now();
      }
      if (await tell(s, call.scope, [...ids], told, out)) spoken = Date.now();
      if (Date.now() - spoken >= BEAT_MS) {
        await out.comment("beat");
        spoken = Date.now();
      }
    }
  } finally {
    changes.close();
    s.metrics.watchers.dec();
    out.end();
  }
}

/** The ids of tasks that changed since they were taken last. */
class Changes {
  #ids = new Set<string>();
  #keys = false;
  #wake: (() => void) | undefined;
  readonly #stops: (() => void)[];

  constructor(s: Services, account: string) {
    this.#stops = [
      s.db.listenAll(account, "task:", (id) => {
        this.#ids.add(id);
        this.#wake?.();
      }),
      s.db.listen(account, "keys", () => {
        this.#keys = true;
        this.#wake?.();
      }),
    ];
  }

  /** Waits for a change and then a little more; true when keys have changed. */
  async wait(ms: number, signal: AbortSignal): Promise<boolean> {
    if (this.#ids.size === 0 && !this.#keys && !signal.aborted) await this.#pause(ms, signal, true);
    if (this.#ids.size > 0 && !this.#keys) await this.#pause(Math.min(GATHER_MS, ms), signal, false);
    const keys = this.#keys;
    this.#keys = false;
    return keys;
  }

  take(): Set<string> {
    const ids = this.#ids;
    this.#ids = new Set();
    return ids;
  }

  close(): void {
    for (const stop of this.#stops) stop();
  }

  #pause(ms: number, signal: AbortSignal, wakeable: boolean): Promise<void> {
    return new Promise((resolve) => {
      const finish = () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", finish);
        this.#wake = undefined;
        resolve();
      };
      const timer = setTimeout(finish, ms);
      signal.addEventListener("abort", finish, { once: true });
      if (wakeable) this.#wake = finish;
    });
  }
}

const open = "account = $1 and org = $2 and project = $3 and agent_uid is null and state in ('Queued', 'Running')";
const markOf = (r: Row) => `${r.state} ${r.attempt} ${r.cancel_requested_at ? 1 : 0}`;

const filesOf = (s: Services, account: string, rows: readonly Row[]) =>
  artifactsOf(
    s.db,
    account,
    rows.map((r) => r.id),
  );

async function tellOpen(
  s: Services,
  { account, org, project }: Scope,
  told: Map<string, string>,
  out: EventStream,
): Promise<void> {
  let after = "";
  for (;;) {
    const rows = await s.db.query(`select * from tasks where ${open} and id > $4 order by id limit ${PAGE}`, [
      account,
      org,
      project,
      after,
    ]);
    const files = await filesOf(s, account, rows);
    for (const row of rows) {
      told.set(row.id, `${markOf(row)} ${files.get(row.id)?.length ?? 0}`);
      await out.event(undefined, "put", viewTask(toTask(row), { artifacts: files.get(row.id) }));
    }
    if (rows.length < PAGE) return;
    after = rows.at(-1)!.id;
  }
}

/** Tasks whose state differs from the one that was sent. */
async function moved(s: Services, { account, org, project }: Scope, told: Map<string, string>): Promise<string[]> {
  const rows = await s.db.query(`select id, state, attempt, cancel_requested_at from tasks where ${open}`, [
    account,
    org,
    project,
  ]);
  const now = new Map(rows.map((r) => [r.id as string, markOf(r)]));
  return [...new Set([...told.keys(), ...now.keys()])].filter(
    (id) => !now.has(id) || !told.get(id)?.startsWith(now.get(id)!),
  );
}

/** Sends those tasks of the scope, as they are now; returns whether there were any. */
async function tell(
  s: Services,
  scope: Scope,
  ids: string[],
  told: Map<string, string>,
  out: EventStream,
): Promise<boolean> {
  let any = false;
  for (let at = 0; at < ids.length; at += PAGE) {
    const some = ids.slice(at, at + PAGE);
    const rows = await s.db.query(
      "select * from tasks where account = $1 and org = $2 and project = $3 and agent_uid is null and id = any($4::text[]) order by created_at, id",
      [scope.account, scope.org, scope.project, some],
    );
    const files = await filesOf(s, scope.account, rows);
    for (const row of rows) {
      // A line of its log wakes us too.
      const mark = `${markOf(row)} ${files.get(row.id)?.length ?? 0}`;
      if (told.get(row.id) === mark) continue;
      if (row.ended_at) told.delete(row.id);
      else told.set(row.id, mark);
      await out.event(undefined, "put", viewTask(toTask(row), { artifacts: files.get(row.id) }));
      any = true;
    }
    const found = new Set(rows.map((r) => r.id));
    // Forgotten meanwhile, with the retention.
    for (const id of some) if (!found.has(id)) told.delete(id);
  }
  return any;
}
