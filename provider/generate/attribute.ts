import type { Attribute, Attributes, Presence, Rules } from "../schema/attribute.ts";
import { camel, snake } from "../schema/names.ts";
import type { Json } from "../value/json.ts";
import type { TypeJson } from "../value/type.ts";

/** The part of JSON Schema that the contract uses. */
export interface JsonSchema {
  readonly $ref?: string;
  readonly type?: "string" | "integer" | "number" | "boolean" | "object" | "array";
  readonly properties?: Record<string, JsonSchema>;
  readonly additionalProperties?: boolean | JsonSchema;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  readonly enum?: readonly string[];
  readonly default?: Json;
  readonly description?: string;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly uniqueItems?: boolean;
  readonly writeOnly?: boolean;
  readonly deprecated?: boolean;
  readonly "x-sensitive"?: boolean;
  readonly "x-moves"?: boolean;
  /** A field of a status changes only with this field of the spec. */
  readonly "x-follows"?: string;
  /** The default holds only while this other field is not given. */
  readonly "x-default-unless"?: string;
  readonly "x-internal"?: boolean;
  readonly "x-reference"?: string;
  /** The object that it names is in the same scope, never above it. */
  readonly "x-same-scope"?: boolean;
  /** Whether an empty object or list means something else than an absent one. The provider tells them apart in any case. */
  readonly "x-empty-counts"?: boolean;
  /** The attribute's name where Terraform keeps the property's own for itself. */
  readonly "x-terraform-name"?: string;
}

export type Schemas = Readonly<Record<string, JsonSchema>>;

/** A schema with its reference resolved; fields beside the reference win. */
export function resolve(schemas: Schemas, schema: JsonSchema): JsonSchema {
  if (!schema.$ref) return schema;
  const name = schema.$ref.split("/").pop()!;
  const target = schemas[name];
  if (!target) throw new Error(`the contract has no schema ${name}`);
  const { $ref: _, ...beside } = schema;
  return { ...resolve(schemas, target), ...beside };
}

/** The attributes of an object of the spec (what users set) or of a status (`computed`, what the service says). */
export function attributesOf(schemas: Schemas, object: JsonSchema, computed: boolean, writeOnly = false): Attributes {
  const out: Record<string, Attribute> = {};
  for (const [json, property] of Object.entries(object.properties ?? {})) {
    if (property["x-internal"]) continue;
    const required = object.required?.includes(json) === true;
    const name = property["x-terraform-name"] ?? snake(json);
    out[name] = {
      ...attributeOf(schemas, resolve(schemas, property), { computed, required, writeOnly }),
      ...(camel(name) === json ? {} : { json }),
    };
  }
  return out;
}

interface Place {
  readonly computed: boolean;
  readonly required: boolean;
  readonly writeOnly: boolean;
}

function presenceOf({ computed, required }: Place, preset: unknown): Presence {
  if (computed) return "computed";
  if (required) return "required";
  return preset === undefined ? "optional" : "either";
}

function attributeOf(schemas: Schemas, schema: JsonSchema, place: Place): Attribute {
  const writeOnly = place.writeOnly || schema.writeOnly === true;
  const preset = !place.computed && !place.required && !writeOnly ? schema.default : undefined;
  const presence = presenceOf(place, preset);
  return compact({
    ...shapeOf(schemas, schema, place.computed, writeOnly),
    presence,
    description: describe(schemas, schema),
    default: preset,
    defaultUnless: preset === undefined ? undefined : schema["x-default-unless"] && snake(schema["x-default-unless"]),
    sensitive: mark(schema["x-sensitive"] === true),
    writeOnly: mark(writeOnly),
    moves: mark(!place.computed && schema["x-moves"] === true),
    refers: place.computed ? undefined : schema["x-reference"],
    deprecated: mark(schema.deprecated === true),
    rules: place.computed ? undefined : rulesOf(schemas, schema),
  });
}

type Shape = Pick<Attribute, "type" | "nesting" | "attributes">;

function shapeOf(schemas: Schemas, schema: JsonSchema, computed: boolean, writeOnly: boolean): Shape {
  const nested = (nesting: Attribute["nesting"], object: JsonSchema): Shape => ({
    nesting: nesting!,
    attributes: attributesOf(schemas, object, computed, writeOnly),
  });
  if (schema.type === "object") {
    if (schema.properties && Object.keys(schema.properties).length > 0) return nested("single", schema);
    const values =
      typeof schema.additionalProperties === "object" ? resolve(schemas, schema.additionalProperties) : undefined;
    if (values?.type === "object" && values.properties) return nested("map", values);
    return { type: values ? ["map", scalar(values)] : "string" };
  }
  if (schema.type === "array") {
    const items = resolve(schemas, schema.items ?? {});
    const kind = schema.uniqueItems ? "set" : "list";
    if (items.type === "object" && items.properties) return nested(kind, items);
    return { type: [kind, scalar(items)] };
  }
  return { type: scalar(schema) };
}

function scalar(schema: JsonSchema): TypeJson {
  if (schema.type === "integer" || schema.type === "number") return "number";
  if (schema.type === "boolean") return "bool";
  // A free-form object inside a list or a map is JSON text, as everywhere.
  if (schema.type === "string" || schema.type === "object") return "string";
  throw new Error(
    `the contract has a property of a kind that the provider cannot show: ${JSON.stringify(schema).slice(0, 200)}`,
  );
}

const isFreeForm = (schema: JsonSchema): boolean =>
  schema.type === "object" && !schema.properties && typeof schema.additionalProperties !== "object";

function emptyOf(schema: JsonSchema): string {
  if (schema.type === "array") return "[]";
  return isFreeForm(schema) ? "jsonencode({})" : "{}";
}

function rulesOf(schemas: Schemas, schema: JsonSchema): Rules | undefined {
  const { pattern, minLength, maxLength, minimum, maximum, minItems } = schema;
  const items = schema.items && resolve(schemas, schema.items);
  const values =
    typeof schema.additionalProperties === "object" ? resolve(schemas, schema.additionalProperties) : undefined;
  const element = [items, values].find((one) => one && !one.properties);
  const rules: Rules = compact({
    pattern,
    enum: schema.enum,
    minLength,
    maxLength,
    minimum,
    maximum,
    minItems,
    maxItems: schema.maxItems ?? schema.maxProperties,
    integer: mark(schema.type === "integer"),
    json: isFreeForm(schema) ? "object" : undefined,
    each: element && rulesOf(schemas, element),
  });
  return Object.keys(rules).length > 0 ? rules : undefined;
}

function describe(schemas: Schemas, schema: JsonSchema): string | undefined {
  const parts = [schema.description && inWords(schemas, schema.description)];
  if (schema["x-reference"] && !schema["x-same-scope"])
    parts.push(
      `Refers to one of the ${schema["x-reference"].replace("appprojects", "app projects")}: \`id\` in the same scope, \`org.id\` or \`account.id\` above it.`,
    );
  if (schema.enum) parts.push(`One of ${schema.enum.map((v) => `\`${v}\``).join(", ")}.`);
  const rival = schema["x-default-unless"];
  if (schema.default !== undefined)
    parts.push(
      `Default: \`${JSON.stringify(schema.default)}\`${rival ? `, unless \`${snake(rival)}\` is given` : ""}.`,
    );
  if (schema["x-empty-counts"]) parts.push(`\`${emptyOf(schema)}\` means something else than leaving it out.`);
  if (isFreeForm(schema)) parts.push("JSON text, as `jsonencode({...})` gives.");
  else if (schema.items && isFreeForm(resolve(schemas, schema.items)))
    parts.push("Each is JSON text, as `jsonencode({...})` gives.");
  if (schema["x-moves"])
    parts.push(
      "Changing it moves the object: the agent before gives it up and deletes nothing in a cluster, and what refers to it stays.",
    );
  return parts.filter(Boolean).join(" ") || undefined;
}

const names = new WeakMap<Schemas, ReadonlySet<string>>();

/** A description names other properties as the contract spells them; here they are attributes: `repoUrl` → `repo_url`. */
function inWords(schemas: Schemas, text: string): string {
  let known = names.get(schemas);
  if (!known) {
    // Parameters of tasks are JSON text here, and keep their names.
    const shown = Object.entries(schemas).filter(([name]) => !name.startsWith("TaskParams"));
    known = new Set(shown.flatMap(([, object]) => namesIn(object)));
    names.set(schemas, known);
  }
  return text.replace(/`([a-z][A-Za-z]*(?:\.[a-z][A-Za-z]*)*)`/g, (whole, path: string) =>
    path.split(".").every((part) => known.has(part)) ? `\`${path.split(".").map(snake).join(".")}\`` : whole,
  );
}

const namesIn = (schema: JsonSchema): string[] =>
  Object.entries(schema.properties ?? {}).flatMap(([name, property]) => [
    name,
    ...namesIn(property),
    ...(property.items ? namesIn(property.items) : []),
  ]);

/** A flag of an attribute: stated only when it is true, so that the tables stay small. */
const mark = (value: boolean): true | undefined => value || undefined;

/** Drops undefined fields only: `false`, `0` and `""` are values, and may be defaults. */
export function compact<T extends object>(value: { [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(value).filter(([, v]) => v !== undefined)) as T;
}
