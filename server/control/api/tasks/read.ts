import { summarize } from "../../domain/explain.ts";
import type { Schemas } from "../../domain/nouns.ts";
import { notFound } from "../../domain/problem.ts";
import type { Scope } from "../../domain/scope.ts";
import { artifactsOf } from "../../store/artifacts.ts";
import type { Sql } from "../../store/database/sql.ts";
import { explainTask } from "../../tasks/explain.ts";
import { readLogs } from "../../tasks/logs.ts";
import { type TaskRow, toTask, tryFindTask, viewTask } from "../../tasks/rows.ts";
import { readCursor, writeCursor } from "../http/cursor.ts";
import { checkScopeExists } from "../nouns/find.ts";
import type { Services } from "../services.ts";
import type { Call, Handler } from "../typed.ts";
import { Waiter } from "../waiter.ts";

/** A task of exactly this scope; questions to agents are not shown as tasks. */
export async function findTask(sql: Sql, scope: Scope, id: string): Promise<TaskRow> {
  const task = await tryFindTask(sql, scope.account, id);
  if (!task || task.org !== scope.org || task.project !== scope.project || task.agentUid) throw notFound();
  return task;
}

/** The task with its files and, while it waits, why no delegate takes it. */
export async function showTask(
  s: Services,
  call: Pick<Call<"getTask">, "caller">,
  task: TaskRow,
): Promise<Schemas["Task"]> {
  const artifacts = (await artifactsOf(s.db, task.account, [task.id])).get(task.id);
  if (task.state !== "Queued") return viewTask(task, { artifacts });
  const visible = call.caller?.kind === "key" ? call.caller.key : task;
  const explanation = await explainTask(s.db, task, visible);
  return { ...viewTask(task, { artifacts, explanation }), message: summarize(explanation, task) };
}

export const getTask =
  (s: Services): Handler<"getTask"> =>
  async (call) => ({ status: 200, body: await showTask(s, call, await findTask(s.db, call.scope, call.params.task)) });

/** Newest first: a task never moves in this order. */
export const listTasks =
  (s: Services): Handler<"listTasks"> =>
  async (call) => {
    await checkScopeExists(s.db, call.scope);
    const { limit = 100, cursor, state, kind } = call.query;
    const [before, beforeId] = cursor === undefined ? [8.64e15, ""] : readCursor(cursor, ["number", "string"]);
    const rows = await s.db.query(
      `select *, (extract(epoch from created_at) * 1000000)::bigint micros from tasks where account = $1 and org = $2 and project = $3 and agent_uid is null
         and ((extract(epoch from created_at) * 1000000)::bigint, id) < ($4::bigint, $5) and ($7::text is null or state = $7) and ($8::text is null or kind = $8)
       order by created_at desc, id desc limit $6`,
      [
        call.scope.account,
        call.scope.org,
        call.scope.project,
        before,
        beforeId,
        limit + 1,
        state ?? null,
        kind ?? null,
      ],
    );
    const page = rows.slice(0, limit);
    const files = await artifactsOf(
      s.db,
      call.scope.account,
      page.map((r) => r.id),
    );
    const last = page.at(-1);
    const more = rows.length > limit && last ? { nextCursor: writeCursor([Number(last.micros), last.id]) } : {};
    return {
      status: 200,
      body: { items: page.map((r) => viewTask(toTask(r), { artifacts: files.get(r.id) })), ...more },
    };
  };

export const getTaskLogs =
  (s: Services): Handler<"getTaskLogs"> =>
  async (call) => {
    const { after = 0, wait = 0 } = call.query;
    // Far beyond any line there can be, and the largest number a bigint column is asked with.
    const from = Math.min(after, Number.MAX_SAFE_INTEGER);
    const ends = Date.now() + wait * 1_000;
    const { id, account } = await findTask(s.db, call.scope, call.params.task);
    const waiter = new Waiter(s.db, account, [`task:${id}`]);
    try {
      for (;;) {
        const log = await readLogs(s.db, await findTask(s.db, call.scope, id), from);
        const left = ends - Date.now();
        if (log.items.length > 0 || log.complete || left <= 0 || call.signal.aborted) return { status: 200, body: log };
        await waiter.wait(Math.min(left, 3_000), call.signal);
      }
    } finally {
      waiter.close();
    }
  };
