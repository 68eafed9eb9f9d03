import type { components } from "../../openapi/contract/types.ts";
import { type Cause, deepestCause } from "../../openapi/deepest-cause.ts";
import type { Client, Limit, Place, Stored } from "../client/client.ts";
import type { Judge, Verdict } from "./wait.ts";

type Tree = components["schemas"]["ResourceTree"];
type Events = components["schemas"]["ApplicationEvents"];

/** The agent reads the tree and its events for each question, so one answer counts for this long. */
const ASK_EVERY_MS = 5_000;
/** An agent that does not answer must not hold the wait up. */
const ANSWER_MS = 3_000;
/** What waiting alone does not mend may still be mended by another resource of the same apply: a pull secret, a quota. */
const LASTING_STANDS_MS = 30_000;

/** The judge of an application that also says why it is not healthy, as far down as its agent sees. */
export function explained(client: Client, place: Place, limit: Limit, judge: Judge): Judge {
  let asked = 0;
  let cause: Cause | undefined;
  return async (stored): Promise<Verdict> => {
    const verdict = await judge(stored);
    if (verdict.kind === "done" || !isUnhealthy(stored) || !mayBeMended(verdict)) return verdict;
    if (Date.now() - asked >= ASK_EVERY_MS) {
      cause = await causeOf(client, place, limit);
      asked = Date.now();
    }
    return cause ? because(verdict, cause) : verdict;
  };
}

const isUnhealthy = (stored: Stored | undefined): boolean => {
  const { status } = (stored?.status.health ?? {}) as { status?: string };
  return status === "Progressing" || status === "Degraded" || status === "Missing";
};

/** A refusal and a wrong source have their own words already. */
const mayBeMended = (verdict: Verdict): boolean =>
  verdict.kind === "later" || (verdict.kind === "stop" && verdict.deployed === true);

async function causeOf(client: Client, place: Place, { signal, deadline }: Limit): Promise<Cause | undefined> {
  const answer = { signal, deadline: Math.min(deadline, Date.now() + ANSWER_MS) };
  const [tree, events] = await Promise.all([
    client.read<Tree>(place, "/tree", answer),
    client.read<Events>(place, "/events", answer),
  ]);
  // A question that was not answered explains nothing.
  return deepestCause((tree.ok && tree.body.nodes) || [], (events.ok && events.body.items) || []);
}

function because(verdict: Exclude<Verdict, { kind: "done" }>, { text, lasting, of }: Cause): Verdict {
  // The words of a cause change (`back-off 10s`, `back-off 20s`) while the failure stays the same one.
  const same = `${of.kind} ${of.namespace ?? ""} ${of.name}`;
  if (verdict.kind === "stop") return { ...verdict, reason: `${verdict.reason}; ${text}`, same: verdict.reason };
  if (!lasting) return { kind: "later", reason: `waiting for ${text}` };
  return {
    kind: "stop",
    reason: `${text} (waiting alone does not mend this)`,
    same,
    standsFor: LASTING_STANDS_MS,
    deployed: true,
  };
}
