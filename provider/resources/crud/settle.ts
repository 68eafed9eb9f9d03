import type { Client, Limit, Place, Stored } from "../../client/client.ts";
import type { ApplyContext } from "../../protocol/provider.ts";
import { isMap, type Value, type ValueMap } from "../../value/value.ts";
import { absence } from "../../wait/agent.ts";
import { type Judge, type Verdict, waitFor } from "../../wait/wait.ts";
import { reportWait } from "../report.ts";
import { placeOf, resolveReference } from "../scope.ts";
import { forgetUnready, noteUnready, waitForCreated } from "../unready.ts";
import { type ResourceKind, stateOf } from "./kind.ts";

/** An object that was just created or updated. */
interface Written {
  readonly client: Client;
  readonly stored: Stored;
  readonly planned: ValueMap;
  readonly limit: Limit;
  /** The action, for messages. */
  readonly action: string;
  readonly created: boolean;
  /** The creation took over an object that was there, with all that it has deployed. */
  readonly taken?: boolean;
}

/** Waits if the user wants it; the state is what there is in any case. */
export async function settle(kind: ResourceKind, written: Written, context: ApplyContext<Client>): Promise<Value> {
  const { noun, ways, attributes } = kind;
  const { client, stored, planned, limit, action, created, taken = false } = written;
  const after = (found: Stored) => kept(stateOf(kind, found, planned), planned);
  context.checkpoint(after(stored));
  if (!ways.judge || planned.get("wait") !== true) return after(stored);
  const place = placeOf(noun, planned);
  const judge = withAgent(client, place, limit, ways.explain?.(client, place, limit, ways.judge) ?? ways.judge);
  const waited = created
    ? await waitForCreated(client, place, judge, limit, context, stored)
    : await waitFor(client, place, judge, limit, context.log, stored);
  if (waited.kind === "done") forgetUnready(context.private);
  else if (!created || !noteUnready(context, action, waited, taken))
    reportWait(context.diagnostics, action, waited, attributes);
  return after(waited.stored ?? stored);
}

/** The state after an apply, with the status that the plan promised: an agent that reports again meanwhile must not change it. */
function kept(state: ValueMap, planned: ValueMap): ValueMap {
  const promised = planned.get("status");
  return isMap(promised ?? null) ? state.set("status", promised!) : state;
}

/** Adds to a reason that the agent is away, which is what a person would look for first. */
export function withAgent(client: Client, place: Place, limit: Limit, judge: Judge): Judge {
  return async (stored): Promise<Verdict> => {
    const verdict = await judge(stored);
    const name = stored?.spec.agent;
    const delivery = (stored?.status as { delivery?: { state?: string } } | undefined)?.delivery?.state;
    if (verdict.kind !== "later" || typeof name !== "string" || delivery === "Delivered") return verdict;
    const agent = await client.get(resolveReference("agents", name, place), limit);
    const away = agent.ok ? absence(name, agent.body) : undefined;
    return away ? { kind: "later", reason: away } : verdict;
  };
}
