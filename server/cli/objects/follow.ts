import { pause } from "../../base/process/pause.ts";
import { readEvents } from "../output/events.ts";
import { EXIT, Failure } from "../output/failure.ts";
import type { Api } from "../session/api.ts";
import type { Json } from "../show.ts";
import type { Noun } from "./nouns.ts";

/** What a watch tells: an object as it is now, or that one is gone. `first` marks what was there at the start. */
export type Change =
  | { event: "put"; object: Json; first: boolean }
  | { event: "delete"; object: Json; first: boolean }
  | { event: "bookmark" };

// Long enough that reconnecting costs nothing, short enough that a dead connection is noticed by its end.
const WATCH_SECONDS = 300;
const PAUSE_MS = 1_000;

export interface Followed {
  id?: string | undefined;
  /** Also those of the scopes below. */
  inherited?: boolean | undefined;
}

/** Follows a collection, or one object of it, across lost connections until the signal ends it. */
export const follow = (api: Api, { collection }: Noun, what: Followed, signal: AbortSignal): AsyncGenerator<Change> =>
  changes(api, "watch", { path: { collection }, query: { ...what } }, signal);

/** Follows several collections in one stream; the `object` of each change says its collection. */
export const followAll = (
  api: Api,
  query: Record<string, string | boolean | undefined>,
  signal: AbortSignal,
): AsyncGenerator<Change> => changes(api, "watchAll", { query }, signal);

interface Asked {
  path?: Record<string, string>;
  query: Record<string, string | boolean | undefined>;
}

async function* changes(
  api: Api,
  operation: "watch" | "watchAll",
  asked: Asked,
  signal: AbortSignal,
): AsyncGenerator<Change> {
  let since: string | undefined;
  let first = true;
  while (!signal.aborted) {
    try {
      const query = { ...asked.query, since, timeoutSeconds: WATCH_SECONDS };
      const answer = await api.send(operation, { ...asked, query, headers: { accept: "text/event-stream" } }, signal);
      for await (const event of readEvents(answer.body as unknown as AsyncIterable<Uint8Array>)) {
        if (event.id) since = event.id;
        if (event.event === "bookmark") {
          yield { event: "bookmark" };
          first = false;
        } else if (event.event === "put" || event.event === "delete")
          yield { event: event.event, object: JSON.parse(event.data) as Json, first };
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Failure) {
        if (error.problem?.code === "watch_expired") since = undefined;
        else if (error.exit !== EXIT.unreachable && error.exit !== EXIT.timeout) throw error;
      }
    }
    await pause(PAUSE_MS, signal);
  }
}
