import type { ServerResponse } from "node:http";
import { stillValid } from "../access/authenticate.ts";
import { type Collection, nouns } from "../domain/nouns.ts";
import { Problem } from "../domain/problem.ts";
import { contains, type Scope } from "../domain/scope.ts";
import { type Event, eventsAfter, logBounds } from "../store/events.ts";
import { listObjects } from "../store/lists/list.ts";
import { tryFindObject, view } from "../store/objects.ts";
import { checkScopeExists } from "./nouns/find.ts";
import type { Services } from "./services.ts";
import { EventStream } from "./stream.ts";
import type { Call, Reply } from "./typed.ts";
import { Waiter } from "./waiter.ts";
import { type Shown, withUrl } from "./webhooks/secret.ts";

// A revoked key is noticed within CHECK; proxies cut what is silent, so BEAT is shorter than any usual limit.
const CHECK_MS = 3_000;
const BEAT_MS = 10_000;
const BATCH = 500;
const PAGE = 200;

/**
 * Follows a collection. Without `since`: every object there is (id 0, so that a cut here starts over), then a bookmark; from then on
 * each change in order, each once. The reader is served from the log in batches, so a slow one costs a cursor and no queue.
 */
export async function watch(s: Services, call: Call<"watch">): Promise<Reply<"watch">> {
  const { collection } = call.params;
  await checkScopeExists(s.db, call.scope);
  const since = call.query.since ?? call.headers.lastEventId;
  let from: number | undefined;
  if (since !== undefined && since !== "0") {
    from = /^[0-9]{1,19}$/.test(since) ? Number(since) : Number.NaN;
    if (!Number.isSafeInteger(from)) throw new Problem("invalid_request", "`since` and Last-Event-ID are versions: whole numbers.");
    const { version, trimmed } = await logBounds(s.db, call.scope.account);
    // A version from the future belongs to a store that was replaced by a backup: what the client knows may never have been.
    if (from < trimmed || from > version)
      throw new Problem("watch_expired", "The version is not in the log any more. List again, or watch without `since`.");
  }
  return { status: 200, stream: (res) => follow(s, call, collection, from, res) };
}

async function follow(
  s: Services,
  call: Call<"watch">,
  collection: Collection,
  from: number | undefined,
  res: ServerResponse,
): Promise<void> {
  const out = new EventStream(res);
  const ends = Date.now() + (call.query.timeoutSeconds ?? 600) * 1_000;
  const waiter = new Waiter(s.db, call.scope.account, ["events", "keys"]);
  s.metrics.watchers.inc();
  try {
    let position = from ?? (await snapshot(s, call, collection, out));
    let told = position;
    let checked = Date.now();
    await out.comment("ready");
    let spoken = Date.now();
    while (!call.signal.aborted && Date.now() < ends) {
      if (Date.now() - checked >= CHECK_MS || waiter.woken("keys")) {
        if (!(await stillValid(s.db, call.caller!))) return;
        checked = Date.now();
      }
      const batch = await eventsAfter(s.db, call.scope.account, position, BATCH);
      const { trimmed } =
        batch.length === 0 || batch[0]!.version > position + 1 ? await logBounds(s.db, call.scope.account) : { trimmed: 0 };
      if (position < trimmed) return;
      for (const event of batch) {
        position = event.version;
        if (event.collection !== collection || !wanted(call, collection, event)) continue;
        await out.event(
          position,
          event.object ? "put" : "delete",
          (event.object && (await shown(s, call, event.object))) ?? {
            id: event.id,
            ...(event.org ? { org: event.org } : {}),
            ...(event.project ? { project: event.project } : {}),
          },
        );
        told = position;
        spoken = Date.now();
      }
      if (batch.length === BATCH) continue;
      if (Date.now() - spoken >= BEAT_MS) {
        if (told !== position) await out.event(position, "bookmark");
        else await out.comment("beat");
        told = position;
        spoken = Date.now();
      }
      await waiter.wait(Math.min(CHECK_MS, Math.max(ends - Date.now(), 1)), call.signal);
    }
  } finally {
    waiter.close();
    s.metrics.watchers.dec();
    out.end();
  }
}

/** An object as get and list show it, but for what changes every few seconds. */
async function shown(s: Services, call: Call<"watch">, object: object): Promise<object> {
  return call.params.collection === "webhooks" ? withUrl(s, call, object as Shown) : object;
}

function wanted(call: Call<"watch">, collection: Collection, event: Event): boolean {
  if (call.query.id !== undefined && event.id !== call.query.id) return false;
  const scope: Scope = { account: call.scope.account, org: event.org, project: event.project };
  if (call.query.inherited) return contains(call.scope, scope);
  return scope.org === call.scope.org && scope.project === call.scope.project && nouns[collection] !== undefined;
}

/** Sends what there is. The version is read first: what changes meanwhile is sent again afterwards, never missed. */
async function snapshot(s: Services, call: Call<"watch">, collection: Collection, out: EventStream): Promise<number> {
  const { version } = await logBounds(s.db, call.scope.account);
  const { id, inherited = false } = call.query;
  if (id !== undefined && !inherited) {
    const found = await tryFindObject(s.db, collection, call.scope, id);
    if (found) await out.event(0, "put", await shown(s, call, view(found)));
  } else {
    let after: [string, string, string] | undefined;
    for (;;) {
      const page = await listObjects(s.db, collection, call.scope, {
        inherited,
        limit: PAGE,
        after,
        filter: id === undefined ? [] : [{ paths: [["id"]], operator: "=", values: [id] }],
      });
      for (const object of page) await out.event(0, "put", await shown(s, call, view(object)));
      const last = page.at(-1);
      if (!last || page.length < PAGE) break;
      after = [last.org, last.project, last.id];
    }
  }
  await out.event(version, "bookmark");
  return version;
}
