import type { ServerResponse } from "node:http";
import { parseFilter, type Term } from "../../domain/lists/filter.ts";
import { isFaceted } from "../../domain/lists/predicate.ts";
import { type Collection, nouns } from "../../domain/nouns.ts";
import { Problem } from "../../domain/problem.ts";
import { logBounds } from "../../store/events.ts";
import { checkScopeExists } from "../nouns/find.ts";
import type { Services } from "../services.ts";
import type { Call, Handler } from "../typed.ts";
import { follow } from "./follow.ts";

type WatchCall = Pick<Call<"watchAll">, "scope" | "headers" | "caller" | "origin" | "signal"> & {
  query: Omit<Call<"watchAll">["query"], "collections"> & { id?: string };
};

/** Follows a collection, or one object of it. */
export const watch =
  (s: Services): Handler<"watch"> =>
  (call) =>
    open(s, call, [call.params.collection]);

/** Follows several collections in one stream: a browser has six connections to a service. */
export const watchAll =
  (s: Services): Handler<"watchAll"> =>
  (call) => {
    const names = call.query.collections.split(",").map((name) => name.trim());
    const unknown = names.find((name) => !Object.hasOwn(nouns, name));
    if (unknown !== undefined)
      throw new Problem(
        "invalid_request",
        `\`${unknown}\` is not a collection. They are ${Object.keys(nouns).join(", ")}.`,
        {
          pointer: "/query/collections",
        },
      );
    return open(s, call, names as Collection[], true);
  };

/**
 * Without `since`: every object there is (id 0, so that a cut here starts over), then a bookmark; from then on each change in order, each once.
 * `named`: each event says its collection.
 */
async function open(s: Services, call: WatchCall, collections: Collection[], named = false) {
  const { id, inherited = false, view = "full", timeoutSeconds = 600 } = call.query;
  await checkScopeExists(s.db, call.scope);
  const filter = readFilter(call.query.filter);
  const key = JSON.stringify([collections, id, call.scope, inherited, filter]);
  const selection = { key, collections: new Set(collections), id, scope: call.scope, inherited, filter };
  const from = await readPosition(s, call);
  const { caller, origin, signal } = call;
  const watching = {
    selection,
    collections,
    view,
    named,
    from,
    caller: caller!,
    origin,
    signal,
    ends: Date.now() + timeoutSeconds * 1_000,
  };
  return { status: 200 as const, stream: (res: ServerResponse) => follow(s, watching, res) };
}

/** A stream sees of an object before its change only what filters by short names ask for. */
function readFilter(text: string | undefined): Term[] {
  const terms = parseFilter(text);
  if (!terms.every(isFaceted))
    throw new Problem(
      "invalid_request",
      "A stream filters by short names and labels: `health!=Healthy,labels.team=shop`, for example.",
      {
        pointer: "/query/filter",
      },
    );
  return terms;
}

/** The version to resume from, if the log still has what came after it. */
async function readPosition(s: Services, { query, headers, scope }: WatchCall): Promise<number | undefined> {
  const since = query.since ?? headers.lastEventId;
  if (since === undefined || since === "0") return undefined;
  const from = /^[0-9]{1,19}$/.test(since) ? Number(since) : Number.NaN;
  if (!Number.isSafeInteger(from))
    throw new Problem("invalid_request", "`since` and Last-Event-ID are versions: whole numbers.");
  const { version, trimmed } = await logBounds(s.db, scope.account);
  // A version from the future belongs to a store that was replaced by a backup: what the client knows may never have been.
  if (from < trimmed || from > version)
    throw new Problem("watch_expired", "The version is not in the log any more. List again, or watch without `since`.");
  return from;
}
