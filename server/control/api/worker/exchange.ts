import { stillValid } from "../../access/authenticate.ts";
import { Problem } from "../../domain/problem.ts";
import { agentTopic, setKnown } from "../../store/deliveries.ts";
import { tryFindByUid } from "../../store/objects.ts";
import { type SessionRow, touchWorker } from "../../store/sessions.ts";
import { tryFindWorker } from "../../store/workers.ts";
import { writing } from "../../store/writer.ts";
import { cancelledOf, leaseTasks } from "../../tasks/lease.ts";
import { setConnected } from "../../tasks/presence.ts";
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
    await contact(s, session, body.draining);
    // A poll of the same worker that is still waiting would go on taking tasks for it: it is woken and returns.
    if (body.draining) await s.db.transaction(async (tx) => tx.notify(session.account, `worker:${session.worker}`));
    if (session.kind === "agent" && body.known)
      await s.db.transaction((tx) => setKnown(tx, session.account, session.objectUid, saneKnown(body.known!)));
    if (session.kind === "agent" && body.reports?.length) await takeReports(s, session, body.reports);
    const ends = Date.now() + body.wait * 1_000;
    const topics = ["sessions", session.kind === "agent" ? agentTopic(session.objectUid) : "tasks", `worker:${session.worker}`];
    const waiter = new Waiter(s.db, session.account, topics);
    s.metrics.polls.inc();
    try {
      for (;;) {
        const { leaving, ...answer } = await gather(s, session, body.draining ? 0 : body.free);
        const left = leaving && !body.draining ? 0 : ends - Date.now();
        if (answer.objects.length || answer.tasks.length || answer.cancel.length || left <= 0 || call.signal.aborted)
          return { status: 200, body: answer };
        await waiter.wait(Math.min(left, LOOK_MS), call.signal);
        if (!(await stillValid(s.db, call.caller!)))
          throw new Problem(
            "session_expired",
            "The session has ended: a newer one of this instance was opened, or the worker was removed.",
          );
      }
    } finally {
      waiter.close();
      s.metrics.polls.dec();
    }
  };

/** The session behind a worker's call. */
export function sessionOf(call: Pick<Call<"exchange">, "caller">): SessionRow {
  if (call.caller?.kind !== "worker") throw new Problem("session_expired", "Open a session first.");
  return call.caller.session;
}

/** Whatever a worker asks shows that it lives. */
export async function contact(s: Services, session: SessionRow, draining?: boolean): Promise<void> {
  const wasAway = await touchWorker(s.db, session, draining);
  if (!wasAway) return;
  await writing(s.db, session.account, async (w) => {
    const object = await tryFindByUid(w, session.account, session.objectUid);
    if (object) await setConnected(w, object, session);
  });
}

async function gather(s: Services, session: SessionRow, free: number): Promise<Answer & { leaving: boolean }> {
  return s.db.transaction(async (tx) => {
    const { objects, more } = session.kind === "agent" ? await collectObjects(s, tx, session) : { objects: [], more: false };
    const tags = session.kind === "delegate" ? await tagsOf(tx, session) : [];
    const leaving = session.kind === "delegate" && (await tryFindWorker(tx, session.account, session.worker))?.draining === true;
    const tasks = free > 0 && !leaving ? await leaseTasks(tx, session, tags, free) : [];
    const cancel = await cancelledOf(tx, session);
    return { objects, tasks: tasks.map((task) => s.signer.signed(task)), cancel, ...(more ? { more } : {}), leaving };
  });
}

/** A delegate's tags are those of its object now, and its id. */
async function tagsOf(tx: { query: Services["db"]["query"] }, session: SessionRow): Promise<string[]> {
  const object = await tryFindByUid(tx, session.account, session.objectUid);
  return object ? [...((object.spec.tags as string[] | undefined) ?? []), object.id] : [session.id];
}

// Numbers beyond what a bigint column or a double holds exactly cannot be revisions of ours.
function saneKnown(known: readonly { uid: string; generation: number }[]) {
  return known
    .filter((k) => Number.isSafeInteger(k.generation) && k.generation >= 0 && k.generation < 2 ** 48)
    .map(({ uid, generation }) => ({ uid, generation }));
}
