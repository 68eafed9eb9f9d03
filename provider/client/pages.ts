import type { Client, Limit, Place, Reply, Stored } from "./client.ts";

/** What a list is asked for: where, in which words, and how many at most. */
export interface Listing {
  readonly scope: Omit<Place, "id">;
  readonly query: Record<string, string>;
  readonly most: number;
}
export interface Listed<T> {
  readonly items: readonly T[];
  /** There are more than were asked for. */
  readonly more: boolean;
}

/** The largest page that the service gives. */
const PAGE = 500;

/** The first objects of a list, page by page. An object that changed its place while pages were read may come twice; it is taken once. */
export async function listObjects<T extends Pick<Stored, "id" | "org" | "project">>(
  client: Client,
  { scope: { collection, org, project }, query, most }: Listing,
  limit: Limit,
): Promise<Reply<Listed<T>>> {
  const found = new Map<string, T>();
  for (let cursor: string | undefined; ; ) {
    const search = new URLSearchParams({
      ...(org ? { org } : {}),
      ...(project ? { project } : {}),
      ...query,
      limit: String(Math.min(PAGE, most - found.size)),
      ...(cursor ? { cursor } : {}),
    });
    const reply = await client.call<{ items: T[]; nextCursor?: string }>("GET", `/v1/${collection}?${search}`, limit);
    if (!reply.ok) return reply;
    for (const item of reply.body.items) found.set(JSON.stringify([item.org, item.project, item.id]), item);
    cursor = reply.body.nextCursor;
    if (!cursor || found.size >= most)
      return { ...reply, body: { items: [...found.values()], more: cursor !== undefined } };
  }
}
