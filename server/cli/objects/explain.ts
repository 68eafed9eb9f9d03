import type { Schemas } from "../../../openapi/client.ts";
import { type Cause, deepestCause } from "../../../openapi/deepest-cause.ts";
import { showAge } from "../../base/lang/duration.ts";
import { readEvents } from "../output/events.ts";
import { Failure } from "../output/failure.ts";
import type { Api } from "../session/api.ts";
import type { Json } from "../show.ts";
import type { Readiness } from "./nouns.ts";
import { agentScope } from "./seal.ts";

export const KEEP_WAITING = ["--keep-waiting", "wait until the timeout also for what waiting does not mend"] as const;

/** A cause counts as lasting when this many looks in a row found it: an image registry may be away for a moment. */
const LOOKS = 4;
const LOG_MS = 3_000;

/**
 * Says why an application is not there yet: that its agent is away, or the deepest cause in the cluster. With `giveUp`, what waiting does not
 * mend ends the wait after some looks.
 */
export function explainer(api: Api, id: string, giveUp: boolean): (object: Json) => Promise<Readiness | undefined> {
  let last = "";
  let looks = 0;
  return async (object) => {
    const away = await agentAway(api, object);
    if (away) return { ready: false, reason: away };
    if (!isUnhealthy(object)) return undefined;
    const cause = await causeOf(api, id);
    if (!cause) return undefined;
    looks = cause.lasting && cause.text === last ? looks + 1 : 1;
    last = cause.text;
    const failed = giveUp && cause.lasting && looks >= LOOKS;
    const line = failed && cause.crashes ? await lastLine(api, id, cause.of) : undefined;
    const said = line ? `${cause.text}; its last line: ${line}` : cause.text;
    return { ready: false, reason: failed ? `${said} (waiting does not mend this; --keep-waiting waits all the same)` : said, failed };
  };
}

const isUnhealthy = ({ status }: Json): boolean => ["Progressing", "Degraded", "Missing"].includes(status?.health?.status);

/** A question that cannot be answered explains nothing. */
async function tried<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof Failure) return undefined;
    throw error;
  }
}

async function agentAway(api: Api, object: Json): Promise<string | undefined> {
  if (!object.spec?.agent) return undefined;
  const [scope, agentId] = agentScope(String(object.spec.agent), api.scope);
  const agent = await tried(api.call<Json>("getAgent", { path: { id: agentId }, scope }));
  if (!agent || agent.status?.connected !== false) return undefined;
  const seen = agent.status.lastSeenAt ? `was last seen ${showAge(agent.status.lastSeenAt)} ago` : "has never connected";
  return `agent ${agentId} is not connected (it ${seen}); it does this when it connects again`;
}

async function causeOf(api: Api, id: string): Promise<Cause | undefined> {
  const [tree, events] = await Promise.all([
    tried(api.call<Schemas["ResourceTree"]>("getApplicationTree", { path: { id } })),
    tried(api.call<Schemas["ApplicationEvents"]>("getApplicationEvents", { path: { id }, query: { limit: 50 } })),
  ]);
  return deepestCause(tree?.nodes ?? [], events?.items ?? []);
}

/** The last line that a crashed container wrote. */
async function lastLine(api: Api, id: string, of: Cause["of"]): Promise<string | undefined> {
  const args = { path: { id }, query: { ...of, tail: 1, previous: true }, headers: { accept: "text/event-stream" } };
  const answer = await tried(api.send("getApplicationLogs", args, AbortSignal.timeout(LOG_MS)));
  if (!answer) return undefined;
  try {
    for await (const { event, data } of readEvents(answer.body as unknown as AsyncIterable<Uint8Array>))
      if (event === "line") return String((JSON.parse(data) as Json).text ?? "");
  } catch {
    // It took too long: the cause is said without it.
  }
  return undefined;
}
