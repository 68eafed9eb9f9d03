import type { Schemas } from "../domain/nouns.ts";
import { ENDED } from "../domain/tasks.ts";
import type { Sql, Tx } from "../store/database/sql.ts";
import type { SessionRow } from "../store/identity/sessions.ts";
import { lockHeld, stale } from "./complete.ts";
import type { TaskRow } from "./rows.ts";

/** Text kept of one task. Beyond it lines are counted and dropped, and the log says so. */
export const MAX_LOG_BYTES = 16 * 1024 * 1024;

type Chunk = Schemas["LogChunk"];

/**
 * Adds lines and gives the number of the last one the service has. The worker counts from 1 in each attempt; lines below what we
 * have are passed over, lines behind a gap are not taken: the worker sends again from there. So each line is stored once, in order.
 */
export async function appendLogs(tx: Tx, s: SessionRow, id: string, chunk: Chunk): Promise<number> {
  const task = await lockHeld(tx, s, id, chunk.fence);
  // Their readers have left; the last lines of a delegate's task are still wanted.
  if (task.agentUid && task.cancelRequested) throw stale();
  const have = task.logLast - task.logBase;
  const skip = have - (chunk.first - 1);
  if (skip < 0 || skip >= chunk.lines.length) return have;
  const fresh = chunk.lines.slice(skip);
  const { kept, bytes, dropped } = fitting(fresh, MAX_LOG_BYTES - task.logBytes);
  const rows = dropped
    ? [
        ...kept,
        { text: `[the log is longer than ${MAX_LOG_BYTES} bytes; the rest is not kept]`, stream: "system" as const },
      ]
    : kept;
  // A full log already has its notice.
  const stored = task.logBytes >= MAX_LOG_BYTES ? [] : rows;
  await tx.query(
    `insert into task_logs (account, task, seq, stream, text, at)
     select $1, $2, $3 + l.n, l.stream, l.text, outpost_now() from unnest($4::text[], $5::text[]) with ordinality l(stream, text, n)`,
    [s.account, id, task.logLast, stored.map((l) => l.stream ?? "stdout"), stored.map((l) => l.text)],
  );
  await tx.query(
    "update tasks set log_last = log_last + $3, log_bytes = $4, lease_confirmed = true where account = $1 and id = $2",
    [s.account, id, fresh.length, dropped ? MAX_LOG_BYTES : task.logBytes + bytes],
  );
  tx.notify(s.account, `task:${id}`);
  return have + fresh.length;
}

function fitting(lines: Chunk["lines"], room: number): { kept: Chunk["lines"]; bytes: number; dropped: boolean } {
  let bytes = 0;
  for (const [i, line] of lines.entries()) {
    const size = Buffer.byteLength(line.text) + 32;
    if (bytes + size > room) return { kept: lines.slice(0, i), bytes, dropped: true };
    bytes += size;
  }
  return { kept: lines, bytes, dropped: false };
}

const PAGE = 1_000;

/** Lines after a number, and whether the log has ended. */
export async function readLogs(sql: Sql, task: TaskRow, after: number): Promise<Schemas["TaskLog"]> {
  const rows = await sql.query(
    "select seq, stream, text, at from task_logs where account = $1 and task = $2 and seq > $3 order by seq limit $4",
    [task.account, task.id, after, PAGE],
  );
  const items = rows.map((r) => ({ seq: Number(r.seq), stream: r.stream, text: r.text, at: r.at.toISOString() }));
  // No line is taken after the end, so a worker that announces more than it has sent keeps no reader waiting.
  const ended = ENDED.includes(task.state);
  return { items, complete: ended && items.length < PAGE };
}
