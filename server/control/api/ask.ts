import type { Fault } from "../../../openapi/contract/validators.js";
import { nameOf } from "../access/authenticate.ts";
import { notFound, Problem } from "../domain/problem.ts";
import { keyOf } from "../domain/scope.ts";
import type { Sql } from "../store/database/sql.ts";
import { tryFindDelivery } from "../store/objects/deliveries.ts";
import type { Stored } from "../store/objects/objects.ts";
import type { TaskRow } from "../tasks/rows.ts";
import { findAgentOf } from "./nouns/references.ts";
import type { Services } from "./services.ts";
import type { Call } from "./typed.ts";

export async function requireAgentOf(sql: Sql, object: Stored): Promise<Stored> {
  const agent = await findAgentOf(sql, object);
  if (!agent) throw notFound();
  return agent;
}

/** Names the object to its agent: what it is called in the agent's namespace, and its key and uid to be sure. */
export async function questionParams(sql: Sql, object: Stored): Promise<Record<string, unknown>> {
  const params = { collection: object.collection, key: keyOf(object, object.id), uid: object.uid };
  if (object.origin !== "managed" && object.found) {
    const { namespace, name, uid } = object.found.live;
    return { ...params, name, live: { namespace, name, uid } };
  }
  const delivery = await tryFindDelivery(sql, object.account, object.uid);
  return {
    ...params,
    name: delivery?.name ?? object.id,
    ...(delivery?.live ? { namespace: delivery.live.namespace } : {}),
  };
}

/** Does `work`, which asks an agent, while the question's places are held. */
export async function asking<T>(
  { questions }: Pick<Services, "questions">,
  { caller, scope }: Pick<Call<"getApplicationTree">, "caller" | "scope">,
  agent: Stored,
  work: () => Promise<T>,
): Promise<T> {
  const leave = questions.take(agent, nameOf(caller), scope);
  try {
    return await work();
  } finally {
    leave();
  }
}

/** What an agent answered, when it could and the answer is what the contract says. */
export function answerOf<T>(task: TaskRow, fits: ((value: unknown) => value is T) & { errors?: Fault[] | null }): T {
  if (task.state !== "Succeeded")
    throw new Problem("agent_refused", task.message ?? `The agent could not do this: ${task.reason ?? task.state}.`);
  if (!fits(task.outputs))
    throw new Problem(
      "agent_refused",
      "The agent's answer does not fit the contract; it may be older than the service. Upgrade it.",
    );
  return task.outputs;
}
