import { usage } from "../../output/failure.ts";
import type { Api } from "../../session/api.ts";
import type { Json } from "../../show.ts";
import { listOf, type Noun } from "../nouns.ts";

/** What a list is asked for. */
export interface ListQuery {
  filter?: string | undefined;
  inherited?: boolean | undefined;
  limit?: string | undefined;
}

const PAGE = 500;

/** Every object of a collection, page by page. */
export async function allOf(api: Api, noun: Noun, { filter, inherited, limit }: ListQuery = {}): Promise<Json[]> {
  const most = limit === undefined ? Number.POSITIVE_INFINITY : Number(limit);
  if (!(most >= 1)) throw usage(`--limit takes a number from 1, not ${JSON.stringify(limit)}`);
  const items: Json[] = [];
  let cursor: string | undefined;
  do {
    const query = { filter, inherited, cursor, limit: Math.min(PAGE, most - items.length) };
    const page = await api.call<{ items: Json[]; nextCursor?: string }>(listOf(noun), { query });
    items.push(...page.items);
    cursor = page.nextCursor;
  } while (cursor && items.length < most);
  return items;
}
