import type { Schemas } from "../../domain/nouns.ts";
import { ENDED } from "../../domain/tasks.ts";
import type { Database } from "../../store/database/sql.ts";
import type { Stored } from "../../store/objects/objects.ts";
import { createTaskRow } from "../create.ts";
import { readLogs } from "../logs.ts";
import { keepReading } from "../queue/lease.ts";
import { type TaskRow, tryFindTask, tryLockTask } from "../rows.ts";
import { settle } from "../transition.ts";
import { ASK_MS, checkConnected, late } from "./ask.ts";

export type Line = Schemas["TaskLog"]["items"][number];

const LOOK_MS = 2_000;
// Several within READER_SECONDS. It is not the loop's work, as a slow reader may hold the loop up.
const BEAT_MS = 15_000;
// The agent ends by itself before that.
const GRACE_SECONDS = 5;

/**
 * Lines that an agent sends for one reader: on the way that the logs of tasks come, but kept only until they are read. An empty batch
 * means that nothing came for a while; what is returned is the task at its end. A reader that leaves ends it, and so does one that is lost with
 * this process: its readers no longer say that they are there.
 */
export async function* linesOf(
  db: Database,
  agent: Stored,
  question: { kind: "application.logs"; params: Record<string, unknown>; seconds: number },
  signal: AbortSignal,
  beatMs = BEAT_MS,
): AsyncGenerator<Line[], TaskRow | undefined> {
  checkConnected(agent);
  const { account, org, project } = agent;
  const { kind, params, seconds } = question;
  const once = {
    selectors: [],
    agentUid: agent.uid,
    timeoutSeconds: seconds + GRACE_SECONDS,
    maxAttempts: 1,
    idempotent: false,
  };
  const { id } = await db.transaction((tx) => createTaskRow(tx, { account, org, project, kind, params, ...once }));
  const asked = Date.now();
  let wake = () => {};
  const stop = db.listen(account, `task:${id}`, () => wake());
  // A beat that fails is repeated by the next.
  const beat = setInterval(
    () => void (signal.aborted ? clearInterval(beat) : keepReading(db, account, id).catch(() => {})),
    beatMs,
  );
  beat.unref();
  let [after, ended] = [0, false];
  try {
    for (;;) {
      const woken = new Promise<void>((resolve) => {
        wake = resolve;
      });
      const task = await tryFindTask(db, account, id);
      if (!task || signal.aborted) return undefined;
      const { items, complete } = await readLogs(db, task, after);
      if (items.length > 0) {
        after = items.at(-1)!.seq;
        yield items;
        await db.query("delete from task_logs where account = $1 and task = $2 and seq <= $3", [account, id, after]);
      }
      ended = ENDED.includes(task.state);
      if (complete) return task;
      if (items.length > 0) continue;
      if (after === 0 && Date.now() - asked > ASK_MS) throw late(agent, ASK_MS);
      const now = wake;
      signal.addEventListener("abort", now, { once: true });
      const timer = setTimeout(now, LOOK_MS);
      await woken;
      clearTimeout(timer);
      signal.removeEventListener("abort", now);
      yield [];
    }
  } finally {
    stop();
    clearInterval(beat);
    await db.transaction(async (tx) => {
      const left = ended ? undefined : await tryLockTask(tx, account, id);
      // From then on the agent's lines are refused, which ends its reading.
      if (left) await settle(tx, left, { type: "cancel" });
      await tx.query("delete from task_logs where account = $1 and task = $2", [account, id]);
    });
  }
}
