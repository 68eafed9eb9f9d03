import { parseFilter } from "../../domain/lists/filter.ts";
import type { Collection, ObjectOf } from "../../domain/nouns.ts";
import { listObjects } from "../../store/lists/list.ts";
import { readCursor, writeCursor } from "../cursor.ts";
import type { Services } from "../services.ts";
import type { Call } from "../typed.ts";
import { checkScopeExists, show } from "./find.ts";
import { withLiveStatus } from "./live.ts";

type ListCall = Pick<Call<"listAgents">, "query" | "scope">;
type ListReply<C extends Collection> = { status: 200; body: { items: ObjectOf<C>[]; nextCursor?: string } };

/** GET of a page of a collection. */
export const list =
  <C extends Collection>(s: Services, collection: C) =>
  async (call: ListCall): Promise<ListReply<C>> => {
    const { limit = 100, inherited = false, cursor, filter } = call.query;
    await checkScopeExists(s.db, call.scope);
    const after = cursor === undefined ? undefined : (readCursor(cursor, ["string", "string", "string"]) as [string, string, string]);
    // One more than asked for tells whether another page follows.
    const found = await listObjects(s.db, collection, call.scope, { inherited, limit: limit + 1, after, filter: parseFilter(filter) });
    const page = await withLiveStatus(s.db, collection, found.slice(0, limit));
    const last = page.at(-1);
    const more = found.length > limit && last ? { nextCursor: writeCursor([last.org, last.project, last.id]) } : {};
    return { status: 200, body: { items: page.map((o) => show<C>(o)), ...more } };
  };
