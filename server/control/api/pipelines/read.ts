import { notFound } from "../../domain/problem.ts";
import type { Scope } from "../../domain/scope.ts";
import type { Sql } from "../../store/database/sql.ts";
import { type RunRow, listRuns as readRuns, tryFindRun, viewRun } from "../../store/runs.ts";
import { runTopic } from "../../tasks/runs.ts";
import { readCursor, writeCursor } from "../http/cursor.ts";
import { checkScopeExists } from "../nouns/find.ts";
import type { Services } from "../services.ts";
import type { Handler } from "../typed.ts";
import { Waiter } from "../waiter.ts";

/** A run of exactly this scope. */
export async function findRun(sql: Sql, scope: Scope, id: string): Promise<RunRow> {
  const run = await tryFindRun(sql, scope.account, id);
  if (!run || run.org !== scope.org || run.project !== scope.project) throw notFound();
  return run;
}

/** A run, at once or as soon as it has a revision above `after`. */
export const getRun =
  (s: Services): Handler<"getRun"> =>
  async (call) => {
    const { wait = 0, after = 0 } = call.query;
    const ends = Date.now() + wait * 1_000;
    const { id, account } = await findRun(s.db, call.scope, call.params.run);
    const waiter = new Waiter(s.db, account, [runTopic(id)]);
    try {
      for (;;) {
        const run = await findRun(s.db, call.scope, id);
        const left = ends - Date.now();
        // A run that has ended no longer changes.
        if (run.revision > after || run.endedAt || left <= 0 || call.signal.aborted)
          return { status: 200, body: viewRun(run) };
        await waiter.wait(Math.min(left, 3_000), call.signal);
      }
    } finally {
      waiter.close();
    }
  };

export const listRuns =
  (s: Services): Handler<"listRuns"> =>
  async (call) => {
    await checkScopeExists(s.db, call.scope);
    const { limit = 100, cursor, pipeline } = call.query;
    const before =
      cursor === undefined ? ([8.64e15, ""] as const) : (readCursor(cursor, ["number", "string"]) as [number, string]);
    const found = await readRuns(s.db, call.scope, { pipeline, before, limit: limit + 1 });
    const page = found.slice(0, limit);
    const last = page.at(-1);
    const more = found.length > limit && last ? { nextCursor: writeCursor([last.micros, last.run.id]) } : {};
    return { status: 200, body: { items: page.map(({ run }) => viewRun(run)), ...more } };
  };
