import type { Client, Limit, Place, Stored } from "../../client/client.ts";
import type { Attributes } from "../../schema/attribute.ts";
import type { Diagnostics } from "../../schema/diagnostics.ts";
import { parseDuration } from "../../schema/duration.ts";
import { blank } from "../../schema/plan.ts";
import { defaultOf } from "../../schema/type.ts";
import { field, stringField, type ValueMap } from "../../value/value.ts";
import type { Judge } from "../../wait/wait.ts";
import type { Noun } from "../noun.ts";
import { fromSpec } from "../spec.ts";

/** What a noun does beyond the common way. */
export interface ResourceHooks {
  validate?(config: ValueMap, diagnostics: Diagnostics): void;
  /** What a create or update waits for. */
  readonly judge?: Judge;
  /** The judge of one object that also finds out why it is not ready. */
  explain?(client: Client, place: Place, limit: Limit, judge: Judge): Judge;
  /** After the object was created or deleted. */
  replaced?(client: Client, place: Place): void;
}

/** The facts of a noun, computed once from its schema. */
export interface ResourceKind {
  readonly noun: Noun;
  readonly ways: ResourceHooks;
  /** Of the whole resource, and of the object's specification. */
  readonly attributes: Attributes;
  readonly spec: Attributes;
  /** Whether another agent may become its own. */
  readonly movable: boolean;
  readonly hasCredentials: boolean;
}

/** How often a write is made again because something changed between reading and writing. */
export const ATTEMPTS = 10;
/** What a wait may take when the configuration says nothing. */
const PATIENCE_MS = 600_000;

export function kindOf(noun: Noun, ways: ResourceHooks): ResourceKind {
  const { attributes } = noun.schema;
  return {
    noun,
    ways,
    attributes,
    spec: Object.fromEntries(noun.spec.map((name) => [name, attributes[name]!])),
    movable: Object.values(attributes).some((a) => a.moves === true),
    hasCredentials: attributes.credentials?.writeOnly === true,
  };
}

/** The state of a stored object; what the user wrote (`prior`) is kept where it means the same. */
export function stateOf({ attributes, spec }: ResourceKind, stored: Stored, prior: ValueMap): ValueMap {
  const out = new Map([...blank(attributes), ...fromSpec(spec, stored.spec, prior)]);
  out.set("id", stored.id);
  if (attributes.org) out.set("org", stored.org ?? null);
  if (attributes.project) out.set("project", stored.project ?? null);
  out.set("uid", stored.uid);
  out.set("generation", stored.generation);
  if (attributes.status) out.set("status", fromSpec(attributes.status.attributes!, stored.status, null));
  for (const [name, a] of Object.entries(attributes))
    if (a.local) out.set(name, prior.get(name) ?? defaultOf(a) ?? null);
  return out;
}

/** How far a call may go: as the resource's `timeouts` say. */
export const limitOf = (value: ValueMap, verb: "create" | "update" | "delete", signal: AbortSignal): Limit => {
  const text = stringField(field(value, "timeouts"), verb);
  return { deadline: Date.now() + ((text && parseDuration(text)) || PATIENCE_MS), signal };
};

/** Only what agents find in their clusters can be taken over from there. */
export const taking = ({ noun }: ResourceKind, planned: ValueMap): { adopt?: boolean } =>
  noun.discovered && planned.get("adopt") === true ? { adopt: true } : {};
