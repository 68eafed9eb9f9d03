import type { KubeObject } from "../../../kube/object.ts";
import { tenantOf } from "../../project/tenant.ts";
import type { Generated } from "../types.ts";

// What the link writes on a set that the service delivered.
const ID = "outpost.dev/id";
const ENDING = /-[0-9a-f]{12}$/;

/**
 * What the service appends to the ids of the set's scope, `-` and digits; nothing in the agent's own scope. An application of the template
 * gets the same ending, so no template takes a name that another scope's application may be given, or the account's.
 */
export function endingOf(set: KubeObject): string | undefined {
  if (tenantOf(set) === undefined) return undefined;
  const { name, annotations } = set.metadata;
  const id = annotations?.[ID];
  if (id && name.length > id.length && name.startsWith(`${id}-`)) return name.slice(id.length);
  return ENDING.exec(name)?.[0];
}

/** The generated applications as they are called in the namespace. One that the set made under its bare name before keeps that name. */
export function withEnding(
  set: KubeObject,
  all: readonly Generated[],
  isMade: (name: string) => boolean,
): readonly Generated[] {
  const ending = endingOf(set);
  if (ending === undefined) return all;
  return all.map((one) => {
    const { name } = one.metadata;
    if (!name || name.endsWith(ending) || isMade(name)) return one;
    return { ...one, metadata: { ...one.metadata, name: name + ending } };
  });
}

/** Whether a rule of the set that names an application means this one: by its name in the template, or in the namespace. */
export function isNamed(set: KubeObject, rule: string, name: string): boolean {
  return rule === name || rule + (endingOf(set) ?? "") === name;
}
