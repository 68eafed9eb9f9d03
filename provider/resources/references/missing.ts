import { didYouMean } from "../../../openapi/rules/suggest.ts";
import type { Client, Place } from "../../client/client.ts";

/** How long a message may look for near names, and how many it compares. */
const ASK_MS = 5_000;
const MOST_NAMES = 200;

/** The message for a missing object: where it was looked for, and what was probably meant. */
export async function noSuch(client: Client, word: string, place: Place, signal: AbortSignal): Promise<string> {
  return `There is no ${word} \`${place.id}\` ${whereOf(place)}.${await hintFor(client, place, place.id, signal)}`;
}

/** ` Did you mean …?`, from the ids beside a missing one, spelt with the prefix that it was written with. */
export async function hintFor(client: Client, place: Place, text: string, signal: AbortSignal): Promise<string> {
  const { collection, org, project } = place;
  const query = new URLSearchParams({
    limit: String(MOST_NAMES),
    ...(org ? { org } : {}),
    ...(project ? { project } : {}),
  });
  const limit = { deadline: Date.now() + ASK_MS, signal };
  const found = await client.call<{ items?: { id: string }[] }>("GET", `/v1/${collection}?${query}`, limit);
  const prefix = text.slice(0, text.length - place.id.length);
  return didYouMean(text, found.ok ? (found.body.items ?? []).map(({ id }) => `${prefix}${id}`) : []);
}

function whereOf({ org, project }: Place): string {
  if (project) return `in the project \`${org}/${project}\``;
  return org ? `in the organization \`${org}\`` : "in the account itself";
}
