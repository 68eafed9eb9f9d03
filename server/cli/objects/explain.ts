import type { Schemas } from "../../../openapi/client.ts";
import { type Cause, deepestCause } from "../../../openapi/deepest-cause.ts";
import { showAge } from "../../base/lang/duration.ts";
import { inParallel } from "../../base/process/parallel.ts";
import { readEvents } from "../output/events.ts";
import { Failure } from "../output/failure.ts";
import type { Api, Scope } from "../session/api.ts";
import type { Column, Json } from "../show.ts";
import type { Readiness } from "./nouns.ts";
import { agentScope } from "./seal.ts";

export const KEEP_WAITING = ["--keep-waiting", "wait until the timeout also for what waiting does not mend"] as const;

/** What an application waits for that is not synced by itself: a person. */
export function needsSync({ id, spec, status, generation }: Json): string | undefined {
  const { automated } = spec?.syncPolicy ?? {};
  if ((automated && automated.enabled !== false) || status?.sync?.status !== "OutOfSync") return undefined;
  if ((status.observedGeneration ?? 0) < generation) return undefined;
  if (["Pending", "Running", "Terminating"].includes(status.operation?.phase)) return undefined;
  return `it is OutOfSync and does not sync by itself: run \`outpost app sync ${id}\`, or give it an automated sync policy`;
}

/** A cause counts as lasting when this many looks in a row found it: an image registry may be away for a moment. */
const LOOKS = 4;
const LOG_MS = 3_000;

/**
 * Says why an application is not there yet: that its agent is away, or the deepest cause in the cluster. With `giveUp`, what waiting does not
 * mend ends the wait after some looks. `idle` says why nothing is on its way at all.
 */
export function explainer(
  api: Api,
  id: string,
  giveUp: boolean,
  idle: (object: Json) => string | undefined = () => undefined,
): (object: Json) => Promise<Readiness | undefined> {
  let last = "";
  let looks = 0;
  return async (object) => {
    const away = await agentAway(api, object);
    if (away) return { ready: false, reason: away };
    const wrong = whyNotBegun(object);
    if (wrong) return { ready: false, reason: wrong };
    const asleep = idle(object);
    if (!asleep && !isUnhealthy(object)) return undefined;
    const cause = asleep ? { text: asleep, lasting: true, crashes: false as const } : await causeOf(api, id);
    if (!cause) return undefined;
    looks = cause.lasting && cause.text === last ? looks + 1 : 1;
    last = cause.text;
    const failed = giveUp && cause.lasting && looks >= LOOKS;
    const line = failed && cause.crashes ? await lastLine(api, id, cause.of) : undefined;
    const said = line ? `${cause.text}; its last line: ${line}` : cause.text;
    return {
      ready: false,
      reason: failed ? `${said} (waiting does not mend this; --keep-waiting waits all the same)` : said,
      failed,
    };
  };
}

const isUnhealthy = ({ status }: Json): boolean =>
  ["Progressing", "Degraded", "Missing"].includes(status?.health?.status);

/** An operation that was asked for does not begin while the agent cannot read or place what it wants: that is told, and not that one waits. */
function whyNotBegun({ status, generation }: Json): string | undefined {
  if (status?.operation?.phase !== "Pending" || (status.observedGeneration ?? 0) < generation) return undefined;
  const wrong = ((status.conditions ?? []) as Json[]).find(
    ({ type, status: is }) => is === "True" && /Error$/.test(String(type)),
  );
  return wrong && `the agent cannot begin: ${wrong.reason ?? wrong.type}: ${wrong.message}`;
}

async function agentAway(api: Api, object: Json): Promise<string | undefined> {
  const away = await awayAgent(api, object, api.scope);
  if (!away) return undefined;
  return `agent ${away.id} is not connected (it ${away.seen ? `was last seen ${away.seen} ago` : "has never connected"}); it does this when it connects again`;
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

interface Away {
  id: string;
  /** How long ago it was last seen; none when it has never connected. */
  seen: string | undefined;
}

/** A question that cannot be answered explains nothing. */
async function tried<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof Failure) return undefined;
    throw error;
  }
}

/** The agent of an object, when it is not connected: what the object's status says is then as old as the agent's last word. */
async function awayAgent(api: Api, object: Json, scope: Scope): Promise<Away | undefined> {
  if (!object.spec?.agent) return undefined;
  const [owner, id] = agentScope(String(object.spec.agent), scope);
  const agent = await tried(api.call<Json>("getAgent", { path: { id }, scope: owner }));
  if (!agent || agent.status?.connected !== false) return undefined;
  return { id, seen: agent.status.lastSeenAt ? showAge(agent.status.lastSeenAt) : undefined };
}

/** What is stale among objects, in words. Each agent is asked for once. */
export async function staleOf(api: Api, objects: readonly Json[]): Promise<Map<Json, string>> {
  const byAgent = new Map<string, Json[]>();
  for (const object of objects) {
    // Without a report there is no status that could be old.
    if (!object.status?.sync) continue;
    const key = JSON.stringify(agentScope(String(object.spec?.agent ?? ""), scopeOf(object, api)));
    const ones = byAgent.get(key);
    if (ones) ones.push(object);
    else byAgent.set(key, [object]);
  }
  const stale = new Map<Json, string>();
  await inParallel([...byAgent.values()], async (ones) => {
    const away = await awayAgent(api, ones[0]!, scopeOf(ones[0]!, api));
    if (away) for (const one of ones) stale.set(one, staleText(away));
  });
  return stale;
}

const scopeOf = ({ org, project }: Json, api: Api): Scope => (org ? { org, project } : api.scope);

const staleText = ({ id, seen }: Away): string => `stale${seen ? ` since ${seen}` : ""}: agent ${id} is not connected`;

/** The columns, where the message begins with why a row is stale. */
export function markStale(columns: readonly Column[], stale: ReadonlyMap<Json, string>): Column[] {
  if (stale.size === 0) return [...columns];
  return columns.map((column) => {
    if (column.head !== "MESSAGE") return column;
    return {
      ...column,
      text: (o, c) => [stale.has(o) ? c.yellow(stale.get(o)!) : "", column.text(o, c)].filter(Boolean).join("; "),
    };
  });
}
