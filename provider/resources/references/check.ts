import type { Client, Place } from "../../client/client.ts";
import { NotKnownYet, type ResourceContext } from "../../protocol/provider.ts";
import type { Attributes } from "../../schema/attribute.ts";
import { attr, index, type Path, root } from "../../value/path.ts";
import { isMap, Unknown, type Value, type ValueMap } from "../../value/value.ts";
import type { Noun } from "../noun.ts";
import { placeOf, printPlace, resolveReference } from "../scope.ts";
import { hintFor } from "./missing.ts";

/** A reference of an object: its place, its text, and the object that it means. */
interface Reference {
  readonly path: Path;
  readonly text: string;
  readonly place: Place;
}

/** How long a plan asks for one object, as for its key. */
const ASK_MS = 5_000;
const WORDS: Readonly<Record<string, string>> = {
  agents: "agent",
  appprojects: "app project",
  clusters: "cluster",
  organizations: "organization",
  projects: "project",
  repositories: "repository",
};

/**
 * Checks what a plan refers to. A change of an object that exists is refused when something is missing: otherwise it would fail halfway, and a
 * replacement would have deleted the object by then. A new object only gets a warning, as another configuration may create what it needs.
 * Objects that the same plan creates count as existing; unknown values are checked at apply.
 */
export async function checkReferences(
  noun: Noun,
  { prior, planned }: { prior: ValueMap | null; planned: ValueMap },
  context: ResourceContext<Client>,
): Promise<void> {
  if (["id", "org", "project"].some((name) => planned.get(name) instanceof Unknown)) return;
  const place = placeOf(noun, planned);
  const stays = prior !== null && printPlace(placeOf(noun, prior)) === printPlace(place);
  const before = new Set(stays ? referencesOf(noun, prior).map(nameOfReference) : []);
  const changed = referencesOf(noun, planned).filter((one) => !before.has(nameOfReference(one)));
  if (stays && changed.length === 0) return;
  const client = await open(context);
  if (!client) return;
  if (!stays) plannedBy(client).add(nameOf(place));
  for (const one of changed) {
    if (!(await isMissing(client, one.place, context.signal))) continue;
    // A tainted object comes as a new one, and is deleted all the same.
    const replaces = prior !== null || !(await isMissing(client, place, context.signal, true));
    await say(client, one, replaces, context);
  }
}

/** Whether the service has no such object, and the plan creates none. `here`: whatever the plan does. */
async function isMissing(client: Client, place: Place, signal: AbortSignal, here = false): Promise<boolean> {
  if (!here && plannedBy(client).has(nameOf(place))) return false;
  const key = nameOf(place);
  const asked = answers(client);
  const answer =
    asked.get(key) ??
    client
      .get(place, { deadline: Date.now() + ASK_MS, signal })
      .then((found) => !found.ok && found.problem.code === "not_found");
  asked.set(key, answer);
  const missing = await answer;
  return missing && (here || !plannedBy(client).has(key));
}

async function open(context: ResourceContext<Client>): Promise<Client | undefined> {
  try {
    return await context.client();
  } catch (error) {
    if (error instanceof NotKnownYet) return undefined;
    throw error;
  }
}

async function say(
  client: Client,
  { path, text, place }: Reference,
  exists: boolean,
  context: ResourceContext<Client>,
): Promise<void> {
  const word = WORDS[place.collection] ?? place.collection;
  const hint = await hintFor(client, place, text, context.signal);
  if (exists)
    context.diagnostics.error(
      "A reference to nothing",
      `There is no ${word} \`${text}\`, and this plan does not create it before.${hint} Refer to it by its resource (\`outpost_${word.replace(" ", "_")}.NAME.id\`), or create it first.`,
      path,
    );
  else
    context.diagnostics.warning(
      "A reference to something that is not there yet",
      `There is no ${word} \`${text}\` yet.${hint} Refer to it by its resource (\`outpost_${word.replace(" ", "_")}.NAME.id\`), so that it is created before.`,
      path,
    );
}

/** What an object refers to, its scope included. */
function referencesOf(noun: Noun, value: ValueMap): Reference[] {
  const from = placeOf(noun, value);
  const scope: Reference[] = [];
  if (from.org)
    scope.push({ path: attr(root, "org"), text: from.org, place: { collection: "organizations", id: from.org } });
  if (from.org && from.project)
    scope.push({
      path: attr(root, "project"),
      text: from.project,
      place: { collection: "projects", id: from.project, org: from.org },
    });
  return [...scope, ...within(noun.schema.attributes, value, root, from)];
}

function within(attributes: Attributes, value: Value, path: Path, from: Place): Reference[] {
  if (!isMap(value)) return [];
  return Object.entries(attributes).flatMap(([name, a]): Reference[] => {
    const found = value.get(name) ?? null;
    const here = attr(path, name);
    if (a.refers !== undefined && typeof found === "string")
      return [{ path: here, text: found, place: resolveReference(a.refers, found, from) }];
    if (!a.attributes) return [];
    if (Array.isArray(found)) return found.flatMap((one, i) => within(a.attributes!, one, index(here, i), from));
    return a.nesting === "single" ? within(a.attributes, found, here, from) : [];
  });
}

const nameOf = (place: Place): string => `${place.collection} ${printPlace(place)}`;
const nameOfReference = ({ path, place }: Reference): string => `${JSON.stringify(path)} ${nameOf(place)}`;

const asking = new WeakMap<Client, Map<string, Promise<boolean>>>();
/** What the plan of one run has asked for: many objects refer to the same few. */
function answers(client: Client): Map<string, Promise<boolean>> {
  const found = asking.get(client) ?? new Map();
  asking.set(client, found);
  return found;
}

const plans = new WeakMap<Client, Set<string>>();
/** What the plan of one run creates. One client serves one run of Terraform. */
function plannedBy(client: Client): Set<string> {
  const found = plans.get(client) ?? new Set();
  plans.set(client, found);
  return found;
}
