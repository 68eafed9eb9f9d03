import type { Client } from "../../client/client.ts";
import { report } from "../../client/problem.ts";
import type { ApplyContext } from "../../protocol/provider.ts";
import { stringField, type ValueMap } from "../../value/value.ts";
import { judgeGone } from "../../wait/gone.ts";
import { waitFor } from "../../wait/wait.ts";
import { isReplaced, noteReleased, wasAdopted } from "../replace.ts";
import { reportWait } from "../report.ts";
import { placeOf, printStored } from "../scope.ts";
import { limitOf, type ResourceKind } from "./kind.ts";
import { withAgent } from "./settle.ts";

/** Deletes the object and waits until it is gone. */
export async function remove(
  { noun, attributes }: ResourceKind,
  state: ValueMap,
  context: ApplyContext<Client>,
): Promise<void> {
  const place = placeOf(noun, state);
  const action = `Deleting ${printStored(noun, place)}`;
  const client = await context.client();
  const limit = limitOf(state, "delete", context.signal);
  if (wasAdopted(client, state)) return;
  const uid = stringField(state, "uid");
  const query = {
    ...(uid ? { uid } : {}),
    ...(noun.cascade ? { cascade: stringField(state, "cascade") ?? "foreground" } : {}),
    ...(isReplaced(context.private) ? { replace: "true" } : {}),
  };
  const reply = await client.delete(place, query, limit);
  if (!reply.ok && reply.status === 404) return;
  if (reply.ok && query.replace) noteReleased(client, noun, state);
  if (!reply.ok) {
    report(context.diagnostics, action, reply.problem, attributes);
    return;
  }
  if (reply.status === 204) return;
  const judge = withAgent(client, place, limit, judgeGone(stringField(state, "uid")));
  const waited = await waitFor(client, place, judge, limit, context.log, reply.body);
  if (waited.kind !== "done") reportWait(context.diagnostics, action, waited, attributes);
}
