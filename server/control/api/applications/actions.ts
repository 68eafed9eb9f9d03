import { randomBytes } from "node:crypto";
import { nameOf } from "../../access/authenticate.ts";
import type { ObjectOf } from "../../domain/nouns.ts";
import { Problem } from "../../domain/problem.ts";
import { deliverAction } from "../../store/deliveries.ts";
import type { Stored } from "../../store/objects.ts";
import { findObject, show } from "../nouns/find.ts";
import type { Services } from "../services.ts";
import type { Call, Handler } from "../typed.ts";
import { type WriteCall, write } from "../write.ts";

type Accepted = { status: 202; body: ObjectOf<"applications"> };

/**
 * Sync: rides on the object's delivery; the newest one asked for counts, and the agent does each id once. The answer shows the operation
 * that was asked for, so that the caller knows it again in what the agent reports.
 */
export const syncApplication =
  (s: Services): Handler<"syncApplication"> =>
  (call) =>
    act(s, call, (id) => ({ sync: { id, by: nameOf(call.caller), request: call.body ?? {} } }));

export const refreshApplication =
  (s: Services): Handler<"refreshApplication"> =>
  (call) =>
    act(s, call, (id) => ({ refresh: { id, hard: call.body?.hard ?? false } }));

async function act(
  s: Services,
  call: WriteCall & Pick<Call<"syncApplication">, "params" | "scope">,
  action: (id: string) => Record<string, unknown>,
): Promise<Accepted> {
  return write(s, call, async (w) => {
    const app: Stored = await findObject(w, "applications", call.scope, call.params.id);
    if (app.deletionRequestedAt) throw new Problem("being_deleted", "The application is being deleted by its agent.");
    const id = randomBytes(8).toString("hex");
    const asked = action(id);
    await deliverAction(w, app.uid, asked);
    const body = show<"applications">(app);
    if (!asked.sync) return { status: 202, body };
    return {
      status: 202,
      body: { ...body, status: { ...body.status, operation: { id, phase: "Pending", initiatedBy: nameOf(call.caller) } } },
    };
  });
}
