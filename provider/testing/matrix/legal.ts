import { type JsonSchema, resolve, type Schemas } from "../../generate/attribute.ts";
import type { Json } from "../../value/json.ts";

export type Path = readonly (string | number)[];
type JsonObject = { readonly [name: string]: Json };

/** One value of one field of a spec; undefined means that the field is left out. */
export interface Case {
  readonly path: Path;
  readonly value: Json | undefined;
}

/** Texts for a field, by the end of its path; the first ones that its own rules allow are taken. */
export type Samples = (path: string) => readonly Json[] | undefined;

const TEXTS = [
  "a",
  "b",
  "",
  'Zoë "q" ${x} %{y}\n',
  "a-b",
  "https://git.example.com/a",
  "http://proxy.example.com:3128",
  "A_B",
  "10m",
  "x=y",
  "ns:robot",
  "2030-01-31T10:00:00Z",
  "arn:aws:iam::123456789012:role/x",
  "4AEE18F83AFDEB23",
  "00000000-0000-4000-8000-000000000000",
];
/** What JSON text must survive: every empty and false value, every kind of number, names that are no identifiers. */
export const JSON_TEXTS: readonly JsonObject[] = [
  {},
  { a: 1 },
  { zero: 0, no: false, text: "", none: [], nothing: {}, list: [0, false, "", [], {}], "a/b.c": { "~": "ü" } },
  {
    n: [
      1e21, 5e-324, 1.7976931348623157e308, 0.1, -1.5e-7, 9007199254740991, 9007199254740992, 123456789.12345678,
      0.30000000000000004,
    ],
  },
];

export class Legal {
  readonly #schemas: Schemas;
  readonly #samples: Samples;
  constructor(schemas: Schemas, samples: Samples) {
    this.#schemas = schemas;
    this.#samples = samples;
  }

  /** Every field of a spec, at every depth, with each value that it may have. `base` is the spec that they change. */
  casesOf(name: string, base: JsonObject): Case[] {
    return this.#inObject(this.#whole({ $ref: `#/${name}` }), [], base);
  }

  #whole(schema: JsonSchema): JsonSchema {
    return resolve(this.#schemas, schema);
  }

  #inObject(object: JsonSchema, path: Path, base: Json | undefined): Case[] {
    return Object.entries(object.properties ?? {}).flatMap(([name, property]) => {
      const schema = this.#whole(property);
      // A move to another agent has tests of its own; a value that is never shown cannot be compared.
      if (property["x-internal"] || schema.writeOnly || property["x-moves"]) return [];
      const here = [...path, name];
      const required = object.required?.includes(name) === true;
      const now = isObject(base) ? base[name] : undefined;
      return [...(required ? [] : [{ path: here, value: undefined }]), ...this.#inField(schema, here, now)];
    });
  }

  #inField(schema: JsonSchema, path: Path, base: Json | undefined): Case[] {
    const values = this.values(schema, path).map((value) => ({ path, value }));
    if (isFreeForm(schema)) return values;
    if (schema.type === "object" && schema.properties) return [...values, ...this.#inObject(schema, path, base)];
    const inner = schema.type === "array" ? schema.items : schema.additionalProperties;
    const items = typeof inner === "object" ? this.#whole(inner) : undefined;
    if (!items?.properties) return values;
    // Inside a list or a map, the first element is changed; there is one in each case.
    const at = schema.type === "array" ? 0 : "k";
    const entry = isObject(base) ? base.k : undefined;
    const first = Array.isArray(base) ? base[0] : entry;
    return [...values, ...this.#inObject(items, [...path, at], first)];
  }

  /** The values that a field may have, as far as its schema tells. */
  values(schema: JsonSchema, path: Path): readonly Json[] {
    const given = this.#samples(dotted(path));
    if (given) return given;
    if (schema.type === "boolean") return [true, false];
    if (schema.enum) return schema.enum;
    if (schema.type === "integer" || schema.type === "number") return numbers(schema);
    if (schema.type === "string") return texts(schema);
    if (isFreeForm(schema)) return JSON_TEXTS;
    if (schema.type === "array") {
      const items = this.#whole(schema.items ?? {});
      const some = this.values(items, [...path, 0]);
      const one = items.properties && !this.#samples(dotted([...path, 0])) ? [this.least(items, [...path, 0])] : some;
      const lists = [[], one.slice(0, 1), one.slice(0, 3), [...one.slice(0, 3)].reverse()];
      return lists.filter((list) => list.length >= (schema.minItems ?? 0) && list.length <= (schema.maxItems ?? 3));
    }
    if (schema.properties) return schema.required?.length ? [this.least(schema, path)] : [{}];
    const value = this.values(this.#whole(schema.additionalProperties as JsonSchema), [...path, "k"])[0] ?? "v";
    return [{}, { k: value }, { k: value, "k.l/m": value }];
  }

  /** An object with what it must have and nothing else. */
  least(schema: JsonSchema, path: Path): JsonObject {
    const required = schema.required ?? [];
    return Object.fromEntries(
      required.map((name) => {
        const property = this.#whole(schema.properties![name]!);
        return [name, this.values(property, [...path, name]).find((v) => v !== "" && !isEmpty(v)) ?? {}];
      }),
    );
  }

  /** A spec with a case put into it, and on the way whatever must be there. */
  put(name: string, base: JsonObject, { path, value }: Case): JsonObject {
    return this.#put(this.#whole({ $ref: `#/${name}` }), base, path, [], value) as JsonObject;
  }

  #put(schema: JsonSchema, base: Json | undefined, path: Path, done: Path, value: Json | undefined): Json | undefined {
    const [step, ...rest] = path;
    if (step === undefined) return value;
    if (typeof step === "number") {
      const list =
        Array.isArray(base) && base.length > 0 ? [...base] : [this.least(this.#whole(schema.items!), [...done, step])];
      list[step] = this.#put(this.#whole(schema.items!), list[step], rest, [...done, step], value)!;
      return list;
    }
    const property = schema.properties?.[step] ?? (schema.additionalProperties as JsonSchema);
    const before = isObject(base) ? base : this.least(schema, done);
    const made = this.#put(this.#whole(property), before[step], rest, [...done, step], value);
    const { [step]: _, ...others } = before;
    return made === undefined ? others : { ...others, [step]: made };
  }
}

function numbers({ type, minimum, maximum }: JsonSchema): number[] {
  const [low, high] = [minimum ?? -9007199254740991, maximum ?? 9007199254740991];
  const found = [low, high, 0, 1, -1, 7, ...(type === "number" ? [0.1, 0.30000000000000004] : [])];
  return [...new Set(found.filter((n) => n >= low && n <= high))];
}

function texts({ pattern, minLength = 0, maxLength = 1e9 }: JsonSchema): string[] {
  const fits = (text: string) =>
    text.length >= minLength && text.length <= maxLength && (!pattern || new RegExp(pattern, "u").test(text));
  const long = fits("x".repeat(maxLength > 300 ? 300 : maxLength))
    ? ["x".repeat(maxLength > 300 ? 300 : maxLength)]
    : [];
  return [...TEXTS.filter(fits).slice(0, 4), ...long];
}

export const isFreeForm = (schema: JsonSchema): boolean =>
  schema.type === "object" && !schema.properties && typeof schema.additionalProperties !== "object";
const isObject = (json: Json | undefined): json is { [name: string]: Json } =>
  typeof json === "object" && json !== null && !Array.isArray(json);
const isEmpty = (json: Json): boolean => typeof json === "object" && json !== null && Object.keys(json).length === 0;
/** A path for people and samples: list positions are left out, as they are all alike. */
export const dotted = (path: Path): string => path.filter((step) => typeof step === "string").join(".");

/** Values that conversions lose most easily: absent, empty, false, zero. */
export const isHard = (value: Json | undefined): boolean =>
  value === undefined || value === false || value === 0 || value === "" || isEmpty(value);
