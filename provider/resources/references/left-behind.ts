import type { Client, Place } from "../../client/client.ts";
import type { ResourceContext } from "../../protocol/provider.ts";
import { attr, root } from "../../value/path.ts";
import { stringField, type ValueMap } from "../../value/value.ts";
import type { Noun } from "../noun.ts";
import { placeOf, printNoun, printPlace, resolveReference } from "../scope.ts";

type Spec = {
  agent?: string;
  appProject?: string;
  destination?: { cluster?: string };
  source?: { repository?: string };
  sources?: { repository?: string }[];
};
type Found = { id: string; org?: string; project?: string; spec: Spec };

/** What an application names of each collection. */
const NAMED: Readonly<Record<string, (spec: Spec) => (string | undefined)[]>> = {
  clusters: (spec) => [spec.destination?.cluster],
  appprojects: (spec) => [spec.appProject],
  repositories: (spec) => [spec.source?.repository, ...(spec.sources ?? []).map(({ repository }) => repository)],
};
const MOST = 200;
const SHOWN = 5;

/** Warns of applications that a move to another agent leaves with the agent before, where nothing changes their copy any more. */
export async function warnOfLeftBehind(
  noun: Noun,
  prior: ValueMap,
  { client, signal, diagnostics }: ResourceContext<Client>,
): Promise<void> {
  const named = NAMED[noun.collection];
  if (!named) return;
  const place = placeOf(noun, prior);
  const query = new URLSearchParams({
    inherited: "true",
    limit: String(MOST),
    ...(place.org ? { org: place.org } : {}),
    ...(place.project ? { project: place.project } : {}),
  });
  const limit = { deadline: Date.now() + 60_000, signal };
  const found = await (await client()).call<{ items?: Found[] }>("GET", `/v1/applications?${query}`, limit);
  if (!found.ok) return;
  const left = (found.body.items ?? []).filter((one) =>
    named(one.spec).some((text) => text !== undefined && isAt(noun, text, one, place)),
  );
  if (left.length === 0) return;
  const names = left.slice(0, SHOWN).map((one) => `\`${printPlace({ ...one, collection: "applications" })}\``);
  diagnostics.warning(
    "Applications stay with the agent before",
    `${names.join(", ")}${left.length > SHOWN ? ` and ${left.length - SHOWN} more` : ""} use this ${printNoun(noun)} with agent \`${stringField(prior, "agent")}\`. Unless this plan changes their \`agent\` too, they stay there, with a copy that nothing changes any more.`,
    attr(root, "agent"),
  );
}

function isAt(noun: Noun, text: string, from: Found, place: Place): boolean {
  const at = resolveReference(noun.collection, text, {
    collection: "applications",
    id: from.id,
    org: from.org,
    project: from.project,
  });
  return printPlace(at) === printPlace(place);
}
