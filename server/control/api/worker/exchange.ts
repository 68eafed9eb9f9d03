import { stillValid } from "../../access/authenticate.ts";
import { Problem } from "../../domain/problem.ts";
import { writing } from "../../store/database/writer.ts";
import { type Said, type SessionRow, saveSaid } from "../../store/identity/sessions.ts";
import { agentTopic, setKnown } from "../../store/objects/deliveries.ts";
import { tryFindByUid } from "../../store/objects/objects.ts";
import { setConnected } from "../../tasks/presence.ts";
import { cancelledOf, leaseQuestions, repeatLeases, type WorkerTask } from "../../tasks/queue/lease.ts";
import { takeConditions } from "../discovered/conditions.ts";
import { takeDiscovered, takeListed } from "../discovered/intake.ts";
import type { Services } from "../services.ts";
import type { Call, Handler, Reply } from "../typed.ts";
import { Waiter } from "../waiter.ts";
import { collectObjects } from "./objects.ts";
import { takeReports } from "./reports.ts";

// A session that was ended (a newer one, the agent deleted) must not stay in its poll for longer.
const LOOK_MS = 3_000;
type Answer = Extract<Reply<"exchange">, { status: 200 }>["body"];

/** Latest state both ways: reports are taken in first; then what the worker lacks goes out, or it waits for something to do. */
export const exchange =
  (s: Services): Handler<"exchange"> =>
  async (call) => {
    const session = sessionOf(call);
    const { body } = call;
    await contact(s, session, { draining: body.draining, headroom: body.headroom });
    // A poll of the same worker that is still waiting would go on taking tasks for it: it is woken and returns.
    if (body.draining) s.db.notify(session.account, `worker:${session.worker}`);
    s.metrics.polls.inc();
    try {
      return {
        status: 200,
        body: await (session.kind === "agent" ? serveAgent(s, call, session) : serveDelegate(s, call, session)),
      };
    } finally {
      s.metrics.polls.dec();
    }
  };

/** An agent waits for its objects, and for questions about them. */
async function serveAgent(s: Services, call: Call<"exchange">, session: SessionRow): Promise<Answer> {
  const { body } = call;
  if (body.known)
    await s.db.transaction((tx) => setKnown(tx, session.account, session.objectUid, saneKnown(body.known!)));
  if (body.reports?.length) await takeReports(s, session, body.reports);
  if (body.discovered?.length) await takeDiscovered(s, session, body.discovered);
  if (body.listed?.length) await takeListed(s, session, body.listed);
  if (body.conditions) await takeConditions(s, session, body.conditions);
  // They would be held for as long as the agent waits.
  for (const taken of ["known", "reports", "discovered", "listed"] as const) delete body[taken];
  call.bodyTaken();
  const ends = Date.now() + body.wait * 1_000;
  const waiter = new Waiter(s.db, session.account, [
    "sessions",
    agentTopic(session.objectUid),
    `worker:${session.worker}`,
  ]);
  try {
    for (;;) {
      const answer = await s.db.transaction(async (tx) => {
        const { objects, more } = await collectObjects(s, tx, session);
        const room = body.draining ? 0 : body.free;
        const again = room > 0 ? await repeatLeases(tx, session) : [];
        const tasks =
          room > again.length ? [...again, ...(await leaseQuestions(tx, session, room - again.length))] : again;
        const cancel = await cancelledOf(tx, session);
        return {
          objects,
          tasks: tasks.map((task) => s.signer.signed(withoutScope(task))),
          cancel,
          ...(more ? { more } : {}),
        };
      });
      const left = ends - Date.now();
      if (answer.objects.length || answer.tasks.length || answer.cancel.length || left <= 0 || call.signal.aborted)
        return answer;
      await waiter.wait(Math.min(left, LOOK_MS), call.signal);
      if (!(await stillValid(s.db, call.caller!))) throw ended();
    }
  } finally {
    waiter.close();
  }
}

/** A delegate waits at the dispatcher for tasks, and for news that its tasks were cancelled. */
async function serveDelegate(s: Services, call: Call<"exchange">, session: SessionRow): Promise<Answer> {
  // Nothing that is large is for a delegate to say; what it says all the same is not held while it waits.
  for (const unread of ["known", "reports", "discovered", "listed"] as const) delete call.body[unread];
  call.bodyTaken();
  const { wait, draining, headroom, ...asked } = call.body;
  const free = draining || headroom?.full !== undefined ? 0 : asked.free;
  const stop = new AbortController();
  const leave = () => stop.abort();
  const timer = wait > 0 ? setTimeout(leave, wait * 1_000) : undefined;
  call.signal.addEventListener("abort", leave, { once: true });
  try {
    const given = await s.dispatchers
      .of(session.account)
      .ask({ session, free, draining, once: wait === 0 }, stop.signal);
    if (given.ended) throw ended();
    for (const { kind } of given.tasks) s.metrics.leases.inc({ kind });
    return answerOf(s, session, given.tasks, given.cancel);
  } finally {
    clearTimeout(timer);
    call.signal.removeEventListener("abort", leave);
  }
}

const ended = () =>
  new Problem(
    "session_expired",
    "The session has ended: a newer one of this instance was opened, or the worker was removed.",
  );

/** An agent has no use for it, and one of the version before would refuse a question that has it. */
const withoutScope = ({ scope: _, ...task }: WorkerTask): WorkerTask => task;

/** Tasks as they go out: signed, each with the credential of its lease. */
function answerOf(s: Services, { account, type }: SessionRow, tasks: readonly WorkerTask[], cancel: string[]): Answer {
  // A delegate of the version before says nothing of how it was installed, and takes no task with fields that it does not know.
  const signed = tasks.map((task) =>
    s.signer.signed(
      type
        ? { ...task, token: s.signer.taskToken({ account, task: task.task, fence: task.fence }) }
        : withoutScope(task),
    ),
  );
  return { objects: [], tasks: signed, cancel };
}

/** The session behind a worker's call. */
export function sessionOf(call: Pick<Call<"exchange">, "caller">): SessionRow {
  if (call.caller?.kind !== "worker") throw new Problem("session_expired", "Open a session first.");
  return call.caller.session;
}

/** Every call of a worker shows that it is alive. */
export async function contact(s: Services, session: SessionRow, said: Said = {}): Promise<void> {
  s.contacts.add(session);
  await saveSaid(s.db, session, said);
  if (session.connected) return;
  await writing(s.db, session.account, async (w) => {
    const object = await tryFindByUid(w, session.account, session.objectUid);
    if (object) await setConnected(w, object, session);
  });
}

// Numbers beyond what a bigint column or a double holds exactly cannot be revisions of ours.
function saneKnown(known: readonly { uid: string; generation: number }[]) {
  return known
    .filter((k) => Number.isSafeInteger(k.generation) && k.generation >= 0 && k.generation < 2 ** 48)
    .map(({ uid, generation }) => ({ uid, generation }));
}
