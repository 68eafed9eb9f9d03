import type { Client, Place } from "../client/client.ts";
import { DESTROYS, type PrivateState, type ResourceContext } from "../protocol/provider.ts";
import { isMove } from "../schema/plan.ts";
import { attr, root } from "../value/path.ts";
import { stringField, Unknown, unknown, type ValueMap } from "../value/value.ts";
import type { Noun } from "./noun.ts";
import { placeOf, printPlace, resolveReference } from "./scope.ts";

/** In the private data of a creation, and so of the delete that comes with it: where the new object will be. */
const AT = "at";

/** A plan that says what becomes of the object: a moved one gets another uid, and a new one remembers its place. */
export async function planIdentity(
  noun: Noun,
  { prior, planned }: { prior: ValueMap | null; planned: ValueMap },
  context: ResourceContext<Client>,
): Promise<ValueMap> {
  const known = ["id", "org", "project"].every((name) => !(planned.get(name) instanceof Unknown));
  if (!prior) {
    if (known) context.private.set(AT, printPlace(placeOf(noun, planned)));
    return planned;
  }
  if (known && printPlace(placeOf(noun, planned)) !== printPlace(placeOf(noun, prior))) await warnOfMissing(noun, planned, context);
  return isMove(noun.schema.attributes, planned, prior) ? new Map(planned).set("uid", unknown) : planned;
}

/** Whether a delete is half of a replacement by an object of the same id. What refers to the object must not hinder it then. */
export function isReplaced(noun: Noun, state: ValueMap, kept: PrivateState): boolean {
  return !kept.has(DESTROYS) && kept.get(AT) === printPlace(placeOf(noun, state));
}

/**
 * An object with another id or scope is deleted and created. What the new one needs may be made by the same plan, so that a plan cannot
 * refuse it; but when it is a mistake, the object would be deleted and not come back.
 */
async function warnOfMissing(noun: Noun, planned: ValueMap, context: ResourceContext<Client>): Promise<void> {
  const place = placeOf(noun, planned);
  const agent = stringField(planned, "agent");
  const needs: [name: string, place: Place, what: string][] = [];
  if (place.org) needs.push(["org", { collection: "organizations", id: place.org }, `organization \`${place.org}\``]);
  if (place.org && place.project)
    needs.push(["project", { collection: "projects", id: place.project, org: place.org }, `project \`${place.project}\``]);
  if (agent !== undefined && noun.schema.attributes.agent)
    needs.push(["agent", resolveReference("agents", agent, place), `agent \`${agent}\``]);
  const client = await context.client();
  const limit = { deadline: Date.now() + 60_000, signal: context.signal };
  for (const [name, at, what] of needs) {
    const found = await client.get(at, limit);
    if (found.ok || found.problem.code !== "not_found") continue;
    context.diagnostics.warning(
      "The replacement may fail",
      `There is no ${what} yet. Unless this plan creates it, ${printPlace(placeOf(noun, planned))} cannot be created after the object before it is deleted. Check the spelling, or set \`lifecycle { create_before_destroy = true }\`.`,
      attr(root, name),
    );
  }
}

const released = new WeakMap<Client, Map<string, ValueMap>>();
const placeIn = (noun: Noun, at: ValueMap): string => `${noun.collection} ${printPlace(placeOf(noun, at))}`;

/** Notes an object that was deleted to be replaced. The service keeps it for its successor while others refer to it. */
export function noteReleased(client: Client, noun: Noun, state: ValueMap): void {
  const places = released.get(client) ?? new Map();
  released.set(client, places.set(placeIn(noun, state), state));
}

/** The state of the object whose successor could not be created, if the service still has it: else it would be in nobody's state. */
export async function leftBehind(client: Client, noun: Noun, planned: ValueMap, signal: AbortSignal): Promise<ValueMap | null> {
  const before = released.get(client)?.get(placeIn(noun, planned));
  if (!before) return null;
  const found = await client.get(placeOf(noun, before), { deadline: Date.now() + 10_000, signal });
  return found.ok && found.body.uid === stringField(before, "uid") ? before : null;
}

const adopted = new WeakMap<Client, Set<string>>();

/** Notes an object that a creation took over. One client serves one run of Terraform. */
export function noteAdopted(client: Client, uid: string): void {
  const uids = adopted.get(client) ?? new Set();
  adopted.set(client, uids.add(uid));
}

/** Whether the same run took the object over: `create_before_destroy` with the same id must not delete what it has just taken. */
export const wasAdopted = (client: Client, state: ValueMap): boolean => adopted.get(client)?.has(stringField(state, "uid") ?? "") === true;
