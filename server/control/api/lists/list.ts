import { parseFilter } from "../../domain/lists/filter.ts";
import type { Collection, ObjectOf } from "../../domain/nouns.ts";
import { listRows } from "../../store/lists/list.ts";
import { readOrder } from "../../store/lists/order.ts";
import { SUMMARY_COLUMNS, type Summary, toSummary } from "../../store/lists/summary.ts";
import { COLUMNS, toStored } from "../../store/objects/objects.ts";
import { checkScopeExists, show } from "../nouns/find.ts";
import { withLiveStatus } from "../nouns/live.ts";
import type { Services } from "../services.ts";
import type { Call } from "../typed.ts";
import { readPlace, writePlace } from "./place.ts";

type ListCall = Pick<Call<"listAgents">, "query" | "scope">;
type Page<Item> = { items: Item[]; nextCursor?: string };
type ListReply<C extends Collection> = { status: 200; body: Page<ObjectOf<C>> | Page<Summary> };

/** GET of a page of a collection. */
export const list =
  <C extends Collection>(s: Services, collection: C) =>
  async (call: ListCall): Promise<ListReply<C>> => {
    const { limit = 100, inherited = false, cursor, filter, sort, view } = call.query;
    await checkScopeExists(s.db, call.scope);
    const order = readOrder(sort);
    const columns = view === "summary" ? SUMMARY_COLUMNS : COLUMNS;
    const reading = { collection, scope: call.scope, columns };
    const after = readPlace(cursor, order);
    // One more than asked for tells whether another page follows.
    const found = await listRows(s.db, reading, {
      inherited,
      limit: limit + 1,
      order,
      after,
      filter: parseFilter(filter),
    });
    const page = found.slice(0, limit);
    const last = page.at(-1);
    const more = found.length > limit && last ? { nextCursor: writePlace(last, order) } : {};
    if (view === "summary") return { status: 200, body: { items: page.map(toSummary), ...more } };
    const objects = await withLiveStatus(s.db, collection, page.map(toStored));
    return { status: 200, body: { items: objects.map((o) => show<C>(o)), ...more } };
  };
