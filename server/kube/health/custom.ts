import { readYaml } from "../../base/json/nesting.ts";
import { gvkOf, type KubeObject } from "../object.ts";

/** What users say of one kind, in Lua. */
export interface CustomActions {
  discovery: string;
  definitions: { name: string; script: string }[];
  /** The built-in actions stay beside these. */
  merge: boolean;
}
export interface Customizations {
  /** By `group/Kind`, or `Kind` without a group; `*` matches any text. */
  health: Map<string, string>;
  actions: Map<string, CustomActions>;
  /** What could not be read, in words. */
  problems: string[];
}

const PREFIX = "resource.customizations";
/** A ConfigMap holds a megabyte; longer scripts than this are refused. */
const MAX_SCRIPT = 256 * 1024;

export const noCustomizations = (): Customizations => ({ health: new Map(), actions: new Map(), problems: [] });

/**
 * Reads the ConfigMap that the ecosystem keeps them in: `resource.customizations.health.<group>_<kind>`, the same with `actions`, and the
 * older `resource.customizations` with all in one text. One that cannot be read leaves the others alone.
 */
export function readCustomizations(data: Readonly<Record<string, unknown>>): Customizations {
  const found = noCustomizations();
  legacy(data[PREFIX], found);
  for (const [key, value] of Object.entries(data)) {
    if (typeof value !== "string") continue;
    const health = after(key, `${PREFIX}.health.`);
    const actions = after(key, `${PREFIX}.actions.`);
    if (health !== undefined) addHealth(found, key, kindKey(health), value);
    if (actions !== undefined) addActions(found, key, kindKey(actions), yaml(found, key, value));
  }
  return found;
}

const after = (key: string, prefix: string): string | undefined =>
  key.startsWith(prefix) ? key.slice(prefix.length) : undefined;

/** `cert-manager.io_Certificate`; a key of a ConfigMap can hold no star, so a part that begins with `_` says any. */
function kindKey(text: string): string {
  const at = text.lastIndexOf("_");
  if (at <= 0) return text;
  return `${text.slice(0, at).replaceAll("_", "*")}/${text.slice(at + 1) || "*"}`;
}

function legacy(text: unknown, found: Customizations): void {
  const all = typeof text === "string" ? yaml(found, PREFIX, text) : undefined;
  if (typeof all !== "object" || all === null) return;
  for (const [key, value] of Object.entries(all as Record<string, Record<string, unknown> | null>)) {
    const script = value?.["health.lua"];
    if (typeof script === "string") addHealth(found, `${PREFIX} ${key}`, key, script);
    const actions = value?.actions;
    if (actions !== undefined)
      addActions(
        found,
        `${PREFIX} ${key}`,
        key,
        typeof actions === "string" ? yaml(found, `${PREFIX} ${key}`, actions) : actions,
      );
  }
}

function addHealth(found: Customizations, where: string, kind: string, script: string): void {
  if (script.length > MAX_SCRIPT) found.problems.push(`${where} is longer than ${MAX_SCRIPT / 1024} KiB`);
  else found.health.set(kind, script);
}

function addActions(found: Customizations, where: string, kind: string, value: unknown): void {
  if (value === undefined) return;
  const { definitions = [], mergeBuiltinActions, ...rest } = (value ?? {}) as Record<string, unknown>;
  const discovery = rest["discovery.lua"];
  const list = Array.isArray(definitions) ? definitions : [];
  const scripts = list.map((one) => ({ name: one?.name as unknown, script: one?.["action.lua"] as unknown }));
  const good = scripts.filter(
    (one): one is { name: string; script: string } => typeof one.name === "string" && typeof one.script === "string",
  );
  if (typeof discovery !== "string" || good.length !== list.length) {
    found.problems.push(`${where} needs discovery.lua, and a name and action.lua in each definition`);
    return;
  }
  found.actions.set(kind, { discovery, definitions: good, merge: mergeBuiltinActions === true });
}

function yaml(found: Customizations, where: string, text: string): unknown {
  try {
    return readYaml(text, { maxAliasCount: 10, logLevel: "error" });
  } catch (error) {
    found.problems.push(`${where} is not YAML: ${(error as Error).message.split("\n")[0]}`);
    return undefined;
  }
}

/** The one for the very kind, else the first whose stars fit. */
export function customOf<T>(all: ReadonlyMap<string, T>, object: KubeObject): T | undefined {
  if (all.size === 0) return undefined;
  const { group } = gvkOf(object);
  const key = group ? `${group}/${object.kind}` : object.kind;
  const exact = all.get(key);
  if (exact !== undefined) return exact;
  for (const [pattern, value] of all) if (pattern.includes("*") && fits(pattern, key)) return value;
  return undefined;
}

/** Piece by piece, so that no pattern takes long. */
function fits(pattern: string, text: string): boolean {
  const pieces = pattern.split("*");
  const [first, last] = [pieces[0]!, pieces.at(-1)!];
  if (text.length < first.length + last.length || !text.startsWith(first) || !text.endsWith(last)) return false;
  let at = first.length;
  for (const piece of pieces.slice(1, -1)) {
    const found = text.indexOf(piece, at);
    if (found < 0 || found + piece.length > text.length - last.length) return false;
    at = found + piece.length;
  }
  return true;
}
