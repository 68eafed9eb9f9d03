/** A cty type: what a value of the Terraform language can be. */
export type Type =
  | { readonly kind: "string" | "number" | "bool" | "dynamic" }
  | { readonly kind: "list" | "set" | "map"; readonly of: Type }
  | { readonly kind: "tuple"; readonly of: readonly Type[] }
  | { readonly kind: "object"; readonly fields: ReadonlyMap<string, Type> };

/** The JSON form of a type, as the protocol and state files write it. */
export type TypeJson = string | [string, TypeJson | TypeJson[] | { [name: string]: TypeJson }, ...unknown[]];

export const string: Type = { kind: "string" };
export const number: Type = { kind: "number" };
export const bool: Type = { kind: "bool" };
export const dynamic: Type = { kind: "dynamic" };
export const list = (of: Type): Type => ({ kind: "list", of });
export const set = (of: Type): Type => ({ kind: "set", of });
export const map = (of: Type): Type => ({ kind: "map", of });
export const tuple = (of: readonly Type[]): Type => ({ kind: "tuple", of });
export const object = (fields: Record<string, Type> | ReadonlyMap<string, Type>): Type => ({
  kind: "object",
  fields: fields instanceof Map ? fields : new Map(Object.entries(fields)),
});

const primitives: Record<string, Type> = { string, number, bool, dynamic };
/** Types nested deeper than this are refused: the JSON comes from outside and the reader is recursive. */
const maxDepth = 100;

/** Reads the JSON form of a type; an unknown form is an error. */
export function parseType(json: unknown, depth = 0): Type {
  if (depth > maxDepth) throw new Error("type is nested too deeply");
  if (typeof json === "string" && Object.hasOwn(primitives, json)) return primitives[json]!;
  if (Array.isArray(json)) {
    const [kind, of] = json;
    if (kind === "list" || kind === "set" || kind === "map") return { kind, of: parseType(of, depth + 1) };
    if (kind === "tuple" && Array.isArray(of)) return tuple(of.map((t) => parseType(t, depth + 1)));
    if (kind === "object" && typeof of === "object" && of !== null)
      return object(new Map(Object.entries(of).map(([k, t]) => [k, parseType(t, depth + 1)])));
  }
  throw new Error(`not a type: ${JSON.stringify(json)?.slice(0, 80)}`);
}

/** The JSON form of a type. Attribute names are sorted so that equal types print equally. */
export function printType(type: Type): TypeJson {
  switch (type.kind) {
    case "list":
    case "set":
    case "map":
      return [type.kind, printType(type.of)];
    case "tuple":
      return ["tuple", type.of.map(printType)];
    case "object":
      return [
        "object",
        Object.fromEntries([...type.fields].sort(([a], [b]) => (a < b ? -1 : 1)).map(([k, t]) => [k, printType(t)])),
      ];
    default:
      return type.kind;
  }
}

/** Whether two types are the same. */
export function sameType(a: Type, b: Type): boolean {
  return a === b || JSON.stringify(printType(a)) === JSON.stringify(printType(b));
}
