import type { Writer } from "../../store/database/writer.ts";
import { removeWorkers, workersOf } from "../../store/identity/workers.ts";
import type { Stored } from "../../store/objects/objects.ts";

/** Ends the sessions of an agent's or delegate's workers, and makes its enrolment tokens worthless. */
export async function removeIdentities(w: Writer, found: Stored): Promise<void> {
  const workers = await workersOf(w, w.account, [found.uid]);
  await removeWorkers(
    w,
    w.account,
    workers.map((x) => x.worker),
  );
  await w.query("delete from tokens where account = $1 and object_uid = $2", [w.account, found.uid]);
  await w.query(
    "update tasks set state = 'Cancelled', reason = 'AgentDeleted', ended_at = outpost_now() where account = $1 and agent_uid = $2 and state in ('Queued', 'Running')",
    [w.account, found.uid],
  );
  w.notify(w.account, "sessions");
}
