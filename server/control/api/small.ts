import { Problem } from "../domain/problem.ts";
import { listAudit as readAudit } from "../store/audit.ts";
import { readCursor, writeCursor } from "./cursor.ts";
import { checkScopeExists } from "./nouns/find.ts";
import type { Services } from "./services.ts";
import type { Handler } from "./typed.ts";

/** Operations of a few lines each. */
export const whoAmI = (): Handler<"whoAmI"> => async (call) => {
  if (call.caller?.kind !== "key") throw new Problem("unauthenticated", "Give an API key: `Authorization: Bearer opk_…`.");
  const { account, id, role, org, project } = call.caller.key;
  return { status: 200, body: { account, id, role, ...(org ? { org } : {}), ...(project ? { project } : {}) } };
};

export const listAudit =
  (s: Services): Handler<"listAudit"> =>
  async (call) => {
    await checkScopeExists(s.db, call.scope);
    const { limit = 100, cursor } = call.query;
    const before = cursor === undefined ? undefined : (readCursor(cursor, ["number"])[0] as number);
    const rows = await readAudit(s.db, call.scope, limit + 1, before);
    const page = rows.slice(0, limit);
    const items = page.map((r) => ({
      seq: Number(r.seq),
      at: r.at.toISOString(),
      actor: r.actor,
      ...(r.address ? { address: r.address } : {}),
      operation: r.operation,
      ...(r.org ? { org: r.org } : {}),
      ...(r.project ? { project: r.project } : {}),
      ...(r.target ? { target: r.target } : {}),
      outcome: r.outcome,
      ...(r.code ? { code: r.code } : {}),
      ...(r.request ? { request: r.request } : {}),
    }));
    return { status: 200, body: { items, ...(rows.length > limit ? { nextCursor: writeCursor([items.at(-1)!.seq]) } : {}) } };
  };

export const getHealth = (): Handler<"getHealth"> => async () => ({ status: 200, text: "ok\n", type: "text/plain" });

export const getReadiness =
  (s: Services): Handler<"getReadiness"> =>
  async () => {
    const answers = s.stopping.aborted
      ? false
      : await s.db.query("select 1").then(
          () => true,
          () => false,
        );
    return answers ? { status: 200, text: "ready\n", type: "text/plain" } : { status: 503, text: "not ready\n", type: "text/plain" };
  };

export const getMetrics =
  (s: Services): Handler<"getMetrics"> =>
  async () => ({ status: 200, text: await s.metrics.registry.metrics(), type: s.metrics.registry.contentType });
