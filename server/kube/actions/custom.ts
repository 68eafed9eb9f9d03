import { done, type Outcome, stop } from "../../base/outcome.ts";
import { type CustomActions, type Customizations, customOf } from "../health/custom.ts";
import type { Lua } from "../lua/lua.ts";
import type { KubeObject } from "../object.ts";
import { actionsOf, runAction } from "./actions.ts";
import { ACTION, type Effect, type Offer, type Parameters } from "./types.ts";

/** What can be done with an object when users define actions too: theirs, and ours where they say so or have none. */
export async function offers(object: KubeObject, custom: Customizations, lua: Lua): Promise<Outcome<Offer[]>> {
  const theirs = customOf(custom.actions, object);
  if (!theirs) return done(actionsOf(object));
  const ran = await lua.run(theirs.discovery, { obj: object });
  if (ran.kind !== "done") return stop(ACTION.script, `the discovery script failed: ${ran.message}`);
  if (typeof ran.value !== "object" || ran.value === null)
    return stop(ACTION.script, "the discovery script returned no table");
  const found = Object.entries(ran.value as Record<string, unknown>).map(([name, value]) => offer(name, value));
  const names = new Set(found.map(({ name }) => name));
  const ours = theirs.merge ? actionsOf(object).filter(({ name }) => !names.has(name)) : [];
  return done([...found, ...ours]);
}

function offer(name: string, value: unknown): Offer {
  const { disabled, params } = (value ?? {}) as { disabled?: unknown; params?: unknown };
  const parameters = (Array.isArray(params) ? params : []).map((one) => ({
    name: String(one?.name ?? ""),
    default: String(one?.default ?? ""),
  }));
  return { name, disabled: disabled === true, ...(parameters.length ? { parameters } : {}) };
}

/** Runs an action of the users, or else one of ours. */
export async function runOffer(
  object: KubeObject,
  name: string,
  parameters: Parameters,
  now: Date,
  custom: Customizations,
  lua: Lua,
): Promise<Outcome<Effect>> {
  const theirs = customOf(custom.actions, object);
  const definition = theirs?.definitions.find((one) => one.name === name);
  if (!definition) {
    if (!theirs || theirs.merge) return runAction(object, name, parameters, now);
    return stop(ACTION.unknown, `there is no action ${JSON.stringify(name)}; there are ${names(theirs)}`);
  }
  const ran = await lua.run(definition.script, { obj: object, actionParams: parameters });
  if (ran.kind !== "done") return stop(ACTION.script, `the action's script failed: ${ran.message}`);
  return effect(ran.value, object);
}

const names = ({ definitions }: CustomActions): string => definitions.map((one) => one.name).join(", ") || "none";

/** An object is the changed one; a list says for each what to do with it. */
function effect(value: unknown, source: KubeObject): Outcome<Effect> {
  if (Array.isArray(value)) {
    const parts = value as { operation?: unknown; resource?: unknown }[];
    if (parts.every((part) => part?.operation === "create" && isObject(part.resource)))
      return done({ kind: "create", objects: parts.map((part) => part.resource as KubeObject) });
    const [only] = parts;
    if (parts.length === 1 && only?.operation === "patch" && isObject(only.resource))
      return done({ kind: "change", object: restored(only.resource, source) as KubeObject });
    return stop(
      ACTION.script,
      "the action's script must return the object, or a list of `create` with resources, or one `patch`",
    );
  }
  if (!isObject(value)) return stop(ACTION.script, "the action's script returned no object");
  return done({ kind: "change", object: restored(value, source) as KubeObject });
}

const isObject = (value: unknown): value is KubeObject =>
  typeof (value as KubeObject | null)?.kind === "string" && typeof (value as KubeObject).apiVersion === "string";

/** Lua has one empty table for {} and [], and none for null: where the source was empty and still is, it stays what it was. */
function restored(value: unknown, source: unknown): unknown {
  if (isEmpty(value) && isEmpty(source)) return structuredClone(source);
  if (Array.isArray(value))
    return value.map((inner, i) => restored(inner, Array.isArray(source) ? source[i] : undefined));
  if (typeof value !== "object" || value === null) return value;
  const before = (typeof source === "object" && source !== null ? source : {}) as Record<string, unknown>;
  const result: Record<string, unknown> = {};
  for (const [key, inner] of Object.entries(value)) result[key] = restored(inner, before[key]);
  for (const [key, inner] of Object.entries(before)) if (inner === null && !(key in result)) result[key] = null;
  return result;
}

const isEmpty = (value: unknown): boolean =>
  typeof value === "object" && value !== null && Object.keys(value).length === 0;
