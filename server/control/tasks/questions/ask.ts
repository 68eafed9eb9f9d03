import { Problem } from "../../domain/problem.ts";
import { ENDED } from "../../domain/tasks.ts";
import type { Database } from "../../store/database/sql.ts";
import type { Stored } from "../../store/objects/objects.ts";
import { createTaskRow } from "../create.ts";
import { type TaskRow, tryFindTask, tryLockTask } from "../rows.ts";
import { settle } from "../transition.ts";

/** People wait for the answer of a read task; proxies give up after 30 s. */
export const ASK_MS = 20_000;

/** Something an agent is asked and answers at once; it changes nothing, so it may be tried twice, unless it says `once`. */
export interface Question {
  kind:
    | "repository.refs"
    | "repository.charts"
    | "repository.test"
    | "cluster.test"
    | "application.manifests"
    | "application.diff"
    | "application.tree"
    | "application.resource"
    | "application.action"
    | "application.operate"
    | "application.revision"
    | "application.events"
    | "applicationset.generate";
  params: Record<string, unknown>;
  once?: boolean;
}

/** Whether there is anybody to ask. */
export function checkConnected(agent: Stored): void {
  if (!agent.status.enrolledAt)
    throw new Problem("agent_not_enrolled", `Agent \`${agent.id}\` has not enrolled yet. Install it first.`);
  if (!agent.status.connected)
    throw new Problem(
      "agent_disconnected",
      `Agent \`${agent.id}\` is not connected${agent.status.lastSeenAt ? `; it was last seen at ${agent.status.lastSeenAt}` : ""}. Look at its log.`,
    );
}

/** Asks an agent and waits for its result. */
export async function askAgent(
  db: Database,
  agent: Stored,
  question: Question,
  signal: AbortSignal,
  waitMs = ASK_MS,
): Promise<TaskRow> {
  checkConnected(agent);
  const { account, org, project } = agent;
  const { once, ...asked } = question;
  const task = await db.transaction((tx) =>
    createTaskRow(tx, {
      account,
      org,
      project,
      ...asked,
      selectors: [],
      agentUid: agent.uid,
      timeoutSeconds: Math.ceil(waitMs / 1_000),
      maxAttempts: once ? 1 : 2,
      idempotent: !once,
    }),
  );
  const ended = await waitForEnd(db, task, signal, waitMs);
  if (ended) return ended;
  await db.transaction(async (tx) => {
    const left = await tryLockTask(tx, account, task.id);
    if (left) await settle(tx, left, { type: "cancel" });
  });
  throw late(agent, waitMs);
}

export const late = (agent: Stored, waitMs: number): Problem =>
  new Problem(
    "agent_timeout",
    `Agent \`${agent.id}\` did not answer within ${Math.round(waitMs / 1_000)} s. Try again; if it stays so, look at the agent's log.`,
  );

async function waitForEnd(
  db: Database,
  task: TaskRow,
  signal: AbortSignal,
  waitMs: number,
): Promise<TaskRow | undefined> {
  const ends = Date.now() + waitMs;
  let wake = () => {};
  const stop = db.listen(task.account, `task:${task.id}`, () => wake());
  try {
    for (;;) {
      const woken = new Promise<void>((resolve) => {
        wake = resolve;
      });
      const now = await tryFindTask(db, task.account, task.id);
      if (!now) return undefined;
      if (ENDED.includes(now.state)) return now;
      const left = ends - Date.now();
      if (left <= 0 || signal.aborted) return undefined;
      let timer: NodeJS.Timeout | undefined;
      await Promise.race([
        woken,
        new Promise<void>((resolve) => {
          timer = setTimeout(resolve, Math.min(left, 2_000));
        }),
      ]);
      clearTimeout(timer);
    }
  } finally {
    stop();
  }
}
