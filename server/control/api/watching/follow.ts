import type { ServerResponse } from "node:http";
import type { Caller } from "../../access/authenticate.ts";
import { fieldNamed } from "../../domain/lists/fields.ts";
import type { Collection } from "../../domain/nouns.ts";
import { eventsAfter, logBounds } from "../../store/events.ts";
import { listRows } from "../../store/lists/list.ts";
import { SUMMARY_COLUMNS, toSummary } from "../../store/lists/summary.ts";
import { COLUMNS, toStored, view as whole } from "../../store/objects/objects.ts";
import { EventStream } from "../http/stream.ts";
import type { Services } from "../services.ts";
import { type Shown, withUrl } from "../webhooks/secret.ts";
import { Change, type Selection, type View } from "./change.ts";
import { type Tail, tailOf } from "./tail.ts";

// A revoked key is noticed within CHECK; proxies cut silent connections, so BEAT is shorter than any usual limit.
const CHECK_MS = 3_000;
const BEAT_MS = 10_000;
const BATCH = 500;
const PAGE = 200;

export interface Watching {
  selection: Selection;
  collections: readonly Collection[];
  view: View;
  /** Each event says its collection. */
  named: boolean;
  from: number | undefined;
  caller: Caller;
  origin: string;
  signal: AbortSignal;
  /** When the stream ends. */
  ends: number;
}

/** Serves one watcher: the objects there are unless it resumes, then changes from the log until it has caught up with the tail, then from the tail. */
export async function follow(s: Services, w: Watching, res: ServerResponse): Promise<void> {
  const out = new EventStream(res);
  const { selection, signal } = w;
  const { account } = selection.scope;
  const tail = tailOf(s.db, account);
  const subscription = tail.subscribe(selection);
  s.metrics.watchers.inc();
  try {
    await tail.ready;
    let position = w.from ?? (await snapshot(s, w, out));
    let told = position;
    let [checked, spoken] = [Date.now(), Date.now()];
    await out.comment("ready");
    const tell = async (change: Change, kind: "put" | "delete") => {
      await out.text(change.version, kind, await textOf(s, w, change, kind));
      told = change.version;
      spoken = Date.now();
    };
    while (!signal.aborted && !out.gone && !subscription.hasEnded && Date.now() < w.ends) {
      if (subscription.takeRecheck() || Date.now() - checked >= CHECK_MS) {
        if (!(await tail.isValid(w.caller))) return;
        checked = Date.now();
      }
      if (subscription.isBehind) {
        const read = await readLog(s, account, tail, position);
        if (!read) return;
        for (const change of read.changes) {
          const kind = change.kindFor(selection);
          if (kind) await tell(change, kind);
        }
        position = read.position;
        // The tail hands out whole batches at once, so all events after its position come to the queue from now on.
        if (position >= tail.position) subscription.isBehind = false;
        continue;
      }
      for (const { change, kind } of subscription.take()) {
        if (change.version <= position) continue;
        await tell(change, kind);
        position = change.version;
      }
      if (subscription.isIdle) position = Math.max(position, tail.position);
      if (Date.now() - spoken >= BEAT_MS) {
        if (told !== position) await out.text(position, "bookmark", "{}");
        else await out.comment("beat");
        told = position;
        spoken = Date.now();
      }
      await subscription.wait(Math.min(CHECK_MS, Math.max(w.ends - Date.now(), 1)), signal);
    }
  } finally {
    subscription.close();
    s.metrics.watchers.dec();
    out.end();
  }
}

/** The next changes after a position, and how far that is; undefined when the log no longer has them. */
async function readLog(s: Services, account: string, tail: Tail, position: number) {
  // What the tail has handed out before is in the log.
  const reached = tail.position;
  const batch = await eventsAfter(s.db, account, position, BATCH);
  if (batch.length === 0 || batch[0]!.version > position + 1) {
    const { trimmed } = await logBounds(s.db, account);
    if (position < trimmed) return undefined;
  }
  const last = batch.at(-1)?.version ?? position;
  return {
    changes: batch.map((event) => new Change(event)),
    position: batch.length < BATCH ? Math.max(last, reached) : last,
  };
}

/** The data of a change. An object is as get and list show it, but for what changes every few seconds. */
async function textOf(s: Services, w: Watching, change: Change, kind: "put" | "delete"): Promise<string> {
  const { collection, object } = change.event;
  if (kind === "put" && collection === "webhooks" && w.view === "full")
    return JSON.stringify(named(w, collection, await addressed(s, w, object!)));
  return change.textOf(kind, w.view, w.named);
}

const named = (w: Watching, collection: string, object: object): object => (w.named ? { collection, object } : object);
const addressed = (s: Services, { selection, origin }: Watching, hook: object): Promise<object> =>
  withUrl(s, { scope: selection.scope, origin }, hook as Shown);

/** Sends what there is. The version is read first: what changes meanwhile is sent again afterwards, never missed. */
async function snapshot(s: Services, w: Watching, out: EventStream): Promise<number> {
  const { scope, id, inherited, filter } = w.selection;
  const { version } = await logBounds(s.db, scope.account);
  const terms = id === undefined ? filter : [...filter, { ...fieldNamed("id")!, operator: "=" as const, values: [id] }];
  const columns = w.view === "summary" ? SUMMARY_COLUMNS : COLUMNS;
  for (const collection of w.collections) {
    let after: [string, string, string] | undefined;
    for (;;) {
      const page = await listRows(
        s.db,
        { collection, scope, columns },
        { inherited, limit: PAGE, after, filter: terms },
      );
      for (const row of page) {
        const object = w.view === "summary" ? toSummary(row) : whole(toStored(row));
        const shown = collection === "webhooks" && w.view === "full" ? await addressed(s, w, object) : object;
        await out.text(0, "put", JSON.stringify(named(w, collection, shown)));
      }
      const last = page.at(-1);
      if (!last || page.length < PAGE) break;
      after = [last.org, last.project, last.id];
    }
  }
  await out.text(version, "bookmark", "{}");
  return version;
}
