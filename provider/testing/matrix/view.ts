import { type JsonSchema, resolve, type Schemas } from "../../generate/attribute.ts";
import type { Attribute, Attributes } from "../../schema/attribute.ts";
import { snake } from "../../schema/names.ts";
import type { Json } from "../../value/json.ts";
import { type Numeric, print } from "../../value/number.ts";
import { isMap, Unknown, type Value } from "../../value/value.ts";
import { isFreeForm } from "./legal.ts";

/**
 * Both sides as one plain JSON form, to compare a state of Terraform with what the service holds. It is written apart from the provider's
 * own conversion, so that a fault there shows. Absent is null, a JSON text is what it says, a set is sorted.
 */
export function viewOfSpec(schemas: Schemas, schema: JsonSchema, json: Json | undefined): Json {
  const whole = resolve(schemas, schema);
  if (json === undefined || json === null) return null;
  if (isFreeForm(whole)) return { json: stable(json) };
  if (whole.type === "object") {
    if (whole.properties) {
      const shown = Object.entries(whole.properties).filter(
        ([, p]) => !p["x-internal"] && !resolve(schemas, p).writeOnly,
      );
      return Object.fromEntries(
        shown.map(([name, p]) => [
          p["x-terraform-name"] ?? snake(name),
          viewOfSpec(schemas, p, (json as { [k: string]: Json })[name]),
        ]),
      );
    }
    const values = whole.additionalProperties as JsonSchema;
    return sorted(
      Object.fromEntries(Object.entries(json as object).map(([k, v]) => [k, viewOfSpec(schemas, values, v)])),
    );
  }
  if (whole.type === "array")
    return inOrder(
      (json as Json[]).map((one) => viewOfSpec(schemas, whole.items!, one)),
      whole.uniqueItems === true,
    );
  return json;
}

export function viewOfState(attributes: Attributes, names: readonly string[], state: Value): Json {
  if (!isMap(state)) return null;
  const shown = names.filter((name) => !attributes[name]!.writeOnly);
  return Object.fromEntries(shown.map((name) => [name, view(attributes[name]!, state.get(name) ?? null)]));
}

function view(a: Attribute, value: Value): Json {
  if (value === null) return null;
  if (value instanceof Unknown) return { unknown: true };
  const inner = (one: Value): Json => {
    if (a.attributes) return viewOfState(a.attributes, Object.keys(a.attributes), one);
    if (a.rules?.json ?? a.rules?.each?.json) return { json: stable(JSON.parse(one as string)) };
    return typeof one === "string" || typeof one === "boolean" ? one : Number(print(one as Numeric));
  };
  if (Array.isArray(value))
    return inOrder(value.map(inner), a.nesting === "set" || (Array.isArray(a.type) && a.type[0] === "set"));
  if (isMap(value) && a.nesting !== "single")
    return sorted(Object.fromEntries([...value].map(([k, v]) => [k, inner(v)])));
  return inner(value);
}

const sorted = (value: { [name: string]: Json }): Json =>
  Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
/** JSON with the names of objects in order; numbers print as the doubles that they are. */
const stable = (json: Json): string =>
  JSON.stringify(json, (_, value) =>
    typeof value === "object" && value !== null && !Array.isArray(value) ? sorted(value) : value,
  );
const inOrder = (list: Json[], isSet: boolean): Json =>
  isSet ? [...list].sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)) : list;
