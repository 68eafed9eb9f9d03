import type { Client, Reply, Stored } from "../../client/client.ts";
import { later } from "../../client/pause.ts";
import { report } from "../../client/problem.ts";
import type { ApplyContext, PlannedChange } from "../../protocol/provider.ts";
import type { Value } from "../../value/value.ts";
import { sealCredentials } from "../credentials/credentials.ts";
import { leftBehind, noteAdopted } from "../replace.ts";
import { placeOf, printStored } from "../scope.ts";
import { toSpec } from "../spec.ts";
import { reportExisting, takeExisting } from "./existing.ts";
import { ATTEMPTS, limitOf, type ResourceKind, taking } from "./kind.ts";
import { settle } from "./settle.ts";

/** How long an interrupted creation waits for the answer to what it has sent. */
const GRACE_MS = 10_000;

/** Creates the object, or takes over one that is there (`adopt`). Null when there is nothing to keep in the state. */
export async function create(
  kind: ResourceKind,
  { config, planned }: PlannedChange,
  context: ApplyContext<Client>,
): Promise<Value> {
  const { noun, ways, attributes, spec } = kind;
  const action = `Creating ${printStored(noun, placeOf(noun, planned))}`;
  const client = await context.client();
  const [place, limit, { diagnostics, log }] = [
    placeOf(noun, planned),
    limitOf(planned, "create", context.signal),
    context,
  ];
  const adopt = planned.get("adopt") === true;
  let reply: Reply<Stored>;
  let body: object;
  let attempt = 0;
  do {
    const plain = toSpec(spec, planned);
    const sealed = kind.hasCredentials
      ? await sealCredentials({ client, attributes, config, spec: plain, place, limit, log, diagnostics, action })
      : undefined;
    if (sealed === null) return null;
    body = { ...plain, ...sealed };
    const condition = adopt ? { move: kind.movable, ...taking(kind, planned) } : ({ ifNoneMatch: "*" } as const);
    try {
      limit.signal.throwIfAborted();
      // An interrupt must not cut off the answer, or the object would be in no state.
      reply = await client.put(place, body, condition, { ...limit, signal: later(limit.signal, GRACE_MS) });
    } catch (error) {
      if (!context.signal.aborted) throw error;
      diagnostics.error(
        `${action}: interrupted`,
        "The run was interrupted before the service had answered. Apply again.",
      );
      return leftBehind(client, noun, planned);
    }
  } while (!reply.ok && reply.problem.code === "credentials_key_mismatch" && ++attempt < ATTEMPTS);
  let taken = adopt && reply.ok && reply.status === 200;
  if (!reply.ok && reply.problem.code === "already_exists") {
    const found = await takeExisting(
      kind,
      { client, place, body, planned, limit: { ...limit, signal: later(limit.signal, GRACE_MS) } },
      reply,
    );
    if (!found.reply) {
      reportExisting(kind, place, found.existing, { action, diagnostics });
      return leftBehind(client, noun, planned);
    }
    ({ reply, taken } = found);
  }
  if (!reply.ok) {
    report(diagnostics, action, reply.problem, attributes);
    return leftBehind(client, noun, planned);
  }
  if (taken) noteAdopted(client, reply.body.uid);
  else ways.replaced?.(client, place);
  return settle(kind, { client, stored: reply.body, planned, limit, action, created: true, taken }, context);
}
