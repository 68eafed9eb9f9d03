import { canonical } from "../../../base/json/canonical.ts";
import { reportedConditions } from "../../domain/conditions.ts";
import type { Schemas } from "../../domain/nouns.ts";
import { writing } from "../../store/database/writer.ts";
import type { SessionRow } from "../../store/identity/sessions.ts";
import { tryFindByUid, updateObject } from "../../store/objects/objects.ts";
import type { Services } from "../services.ts";

/** Stores the agent's own conditions; an unchanged list writes nothing. */
export async function takeConditions(
  s: Services,
  session: SessionRow,
  said: readonly Schemas["WorkerCondition"][],
): Promise<void> {
  const { account, objectUid } = session;
  const next = (agent: Awaited<ReturnType<typeof tryFindByUid>>, now: Date) =>
    reportedConditions(agent?.status.conditions ?? [], said, now);
  const seen = await tryFindByUid(s.db, account, objectUid);
  if (!seen || canonical(next(seen, new Date(0))) === canonical(seen.status.conditions ?? [])) return;
  await writing(s.db, account, async (w) => {
    const agent = await tryFindByUid(w, account, objectUid);
    const [row] = await w.query<{ now: Date }>("select outpost_now() now");
    if (agent) await updateObject(w, { ...agent, status: { ...agent.status, conditions: next(agent, row!.now) } });
  });
}
