import { fromJson } from "../value/json.ts";
import { list, map, parseType, set, type Type } from "../value/type.ts";
import type { Value } from "../value/value.ts";
import type { Attribute, Attributes } from "./attribute.ts";

const attributeTypes = new WeakMap<Attribute, Type>();
type ObjectType = Extract<Type, { kind: "object" }>;
const objectTypes = new WeakMap<Attributes, ObjectType>();
const defaults = new WeakMap<Attribute, Value>();

const COLLECTIONS = new Map<Attribute["nesting"], (element: Type) => Type>([
  ["list", list],
  ["set", set],
  ["map", map],
]);

/** The cty type of an attribute; worked out once. */
export function typeOf(attribute: Attribute): Type {
  let found = attributeTypes.get(attribute);
  if (!found) {
    if (!attribute.attributes) found = parseType(attribute.type);
    else {
      const element = objectOf(attribute.attributes);
      found = COLLECTIONS.get(attribute.nesting)?.(element) ?? element;
    }
    attributeTypes.set(attribute, found);
  }
  return found;
}

/** The cty object type of a group of attributes. */
export function objectOf(attributes: Attributes): ObjectType {
  const known = objectTypes.get(attributes);
  if (known) return known;
  const made: ObjectType = {
    kind: "object",
    fields: new Map(Object.entries(attributes).map(([name, a]) => [name, typeOf(a)])),
  };
  objectTypes.set(attributes, made);
  return made;
}

/** The default of an attribute as a value; undefined when there is none. */
export function defaultOf(attribute: Attribute): Value | undefined {
  if (attribute.default === undefined) return undefined;
  let found = defaults.get(attribute);
  if (found === undefined) {
    found = fromJson(typeOf(attribute), attribute.default);
    defaults.set(attribute, found);
  }
  return found;
}
