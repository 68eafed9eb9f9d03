import type { Client } from "../client/client.ts";
import { DESTROYS, NotKnownYet, type PrivateState, type ResourceContext } from "../protocol/provider.ts";
import { isMove } from "../schema/plan.ts";
import { stringField, unknown, type ValueMap } from "../value/value.ts";
import type { Noun } from "./noun.ts";
import { placeOf, printPlace, printStored } from "./scope.ts";

/** In the private data of a creation, and so of the delete that comes with it. */
const CREATES = "creates";

/** A plan that says what becomes of the object: a moved one gets another uid, and a new one is marked as such. */
export function planIdentity(
  noun: Noun,
  { prior, planned }: { prior: ValueMap | null; planned: ValueMap },
  context: ResourceContext<Client>,
): ValueMap {
  if (!prior) {
    context.private.set(CREATES, true);
    return planned;
  }
  return isMove(noun.schema.attributes, planned, prior) ? new Map(planned).set("uid", unknown) : planned;
}

/**
 * Whether a delete is half of a replacement. What refers to the object must not hinder it then: an object of the same id takes its place, and
 * one that gets another id goes when the last object that refers to it has been changed.
 */
export const isReplaced = (kept: PrivateState): boolean => !kept.has(DESTROYS) && kept.has(CREATES);

const released = new WeakMap<Client, Map<string, ValueMap>>();
const placeIn = (noun: Noun, at: ValueMap): string => `${noun.collection} ${printPlace(placeOf(noun, at))}`;

/** Notes an object that was deleted to be replaced. The service keeps it for its successor while others refer to it. */
export function noteReleased(client: Client, noun: Noun, state: ValueMap): void {
  const places = released.get(client) ?? new Map();
  released.set(client, places.set(placeIn(noun, state), state));
}

/** The state of the object whose successor could not be created, if the service still has it: else it would be in no state at all. */
export async function leftBehind(client: Client, noun: Noun, planned: ValueMap): Promise<ValueMap | null> {
  const before = released.get(client)?.get(placeIn(noun, planned));
  if (!before) return null;
  const found = await client.get(placeOf(noun, before), {
    deadline: Date.now() + 10_000,
    signal: AbortSignal.timeout(10_000),
  });
  return found.ok && found.body.uid === stringField(before, "uid") ? before : null;
}

const adopted = new WeakMap<Client, Set<string>>();

/** Notes an object that a creation took over. One client serves one run of Terraform. */
export function noteAdopted(client: Client, uid: string): void {
  const uids = adopted.get(client) ?? new Set();
  adopted.set(client, uids.add(uid));
}

/** Whether the same run took the object over: `create_before_destroy` with the same id must not delete what it has just taken. */
export const wasAdopted = (client: Client, state: ValueMap): boolean =>
  adopted.get(client)?.has(stringField(state, "uid") ?? "") === true;

const plans = new WeakMap<Client, { stays: Set<string>; goes: Set<string> }>();

/**
 * Refuses a plan that deletes an object and keeps the very same one: it is in the state twice, because a `create_before_destroy` with
 * `adopt` ended halfway, or because another resource took it over. Whichever is planned second sees it.
 */
export async function checkTwice(
  noun: Noun,
  prior: ValueMap,
  fate: "stays" | "goes",
  context: ResourceContext<Client>,
): Promise<void> {
  const uid = stringField(prior, "uid");
  if (uid === undefined) return;
  let client: Client;
  try {
    client = await context.client();
  } catch (error) {
    if (error instanceof NotKnownYet) return;
    throw error;
  }
  const seen = plans.get(client) ?? { stays: new Set(), goes: new Set() };
  plans.set(client, seen);
  seen[fate].add(uid);
  if (!seen[fate === "goes" ? "stays" : "goes"].has(uid)) return;
  const place = placeOf(noun, prior);
  context.diagnostics.error(
    "One object is in the state twice",
    `This plan deletes ${printStored(noun, place)} and keeps it too: both have the uid ${uid}, so that the deletion would delete what is kept. Take it out of the state (\`terraform state rm\`), with its deposed objects, and import it again as \`${printPlace(place)}\`.`,
  );
}
