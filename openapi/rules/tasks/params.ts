import { paramSchemas } from "../../contract/params.ts";
import { type Fault, isObject, isText, type Json, quoted, step } from "../fault.ts";
import { patternFault } from "../messages/patterns.ts";
import { didYouMean } from "../suggest.ts";
import { fieldFaults } from "./fields.ts";
import { looksLikeReference, referenceFault } from "./references.ts";

/** As much of JSON Schema as the parameters of tasks use. */
interface Schema {
  $ref?: string;
  allOf?: Schema[];
  type?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  unevaluatedProperties?: boolean;
  propertyNames?: Schema;
  items?: Schema;
  enum?: string[];
  format?: string;
  pattern?: string;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  minProperties?: number;
  maxProperties?: number;
}

let schemas: Readonly<Record<string, Schema>> | undefined;
const schemaOf = (name: string): Schema | undefined => {
  schemas ??= paramSchemas() as Record<string, Schema>;
  return schemas[name];
};

/** How many names a message lists. */
const FEW = 12;
const TYPES: Readonly<Record<string, string>> = {
  string: "a text",
  integer: "a whole number",
  number: "a number",
  boolean: "`true` or `false`",
  array: "a list",
  object: "an object",
};

/**
 * Errors in the parameters of a kind of task: unknown and missing names, values of another type or form, fields that do not go
 * together. `skip` texts get their values later. The service asks before its validator does, Terraform's provider when it validates.
 */
export function paramFaults(kind: string, params: unknown, skip: (text: string) => boolean = () => false): Fault[] {
  const unfit = shapeFaults(kind, params, skip);
  // The rules between fields read values whose form is right.
  return unfit.length > 0 ? unfit : fieldFaults(kind, params, skip);
}

/** What the schema of the kind says, in words. */
export function shapeFaults(kind: string, params: unknown, skip: (text: string) => boolean = () => false): Fault[] {
  const name = `TaskParams${kind
    .split(".")
    .map((part) => part.charAt(0).toUpperCase() + part.slice(1))
    .join("")}`;
  const schema = schemaOf(name);
  return schema ? faults(schema, params, "", { kind, skip }) : [];
}

/** Of a value that may be anything. Below it too a reference must be one. */
const FREE: Schema = {};

interface About {
  kind: string;
  skip(text: string): boolean;
}

function faults(given: Schema, value: unknown, at: string, about: About): Fault[] {
  const schema = whole(given);
  if (isText(value)) {
    const isFormed = schema.pattern !== undefined || schema.format !== undefined || schema.enum !== undefined;
    const refused = referenceFault(value, { kind: about.kind, at, isFormed });
    if (refused) return [{ pointer: at, detail: refused }];
    if (about.skip(value)) return [];
  }
  if (schema.type !== undefined && !isA(schema.type, value))
    return [{ pointer: at, detail: `${nameAt(at)} of ${about.kind} must be ${TYPES[schema.type] ?? schema.type}.` }];
  if (isText(value)) return ofText(schema, value, at, about);
  if (typeof value === "number") return bounded(value, { least: schema.minimum, most: schema.maximum }, at, about);
  if (Array.isArray(value)) {
    const size = bounded(value.length, { least: schema.minItems, most: schema.maxItems, what: " elements" }, at, about);
    return [...size, ...value.flatMap((one, i) => faults(schema.items ?? FREE, one, `${at}/${i}`, about))];
  }
  return isObject(value) ? ofObject(schema, value, at, about) : [];
}

function ofText(schema: Schema, value: string, at: string, { kind }: About): Fault[] {
  const wrong = (detail: string): Fault[] => [{ pointer: at, detail: `${nameAt(at)} of ${kind} ${detail}` }];
  if (schema.enum && !schema.enum.includes(value))
    return wrong(
      `must be one of ${schema.enum.map((one) => `\`${one}\``).join(", ")}.${didYouMean(value, schema.enum)}`,
    );
  const length = [...value].length;
  if (length < (schema.minLength ?? 0))
    return wrong(length === 0 ? "must not be empty." : `must have at least ${schema.minLength} characters.`);
  if (schema.maxLength !== undefined && length > schema.maxLength)
    return wrong(`must have at most ${schema.maxLength} characters.`);
  if (schema.pattern !== undefined && !new RegExp(schema.pattern, "u").test(value))
    return wrong(`${patternFault(schema.pattern)}.`);
  return [];
}

function ofObject(schema: Schema, value: Json, at: string, about: About): Fault[] {
  const { properties = {}, required = [], propertyNames, additionalProperties } = schema;
  const known = Object.keys(properties);
  const missing = required
    .filter((name) => value[name] === undefined)
    .map((name) => ({
      pointer: `${at}${step(name)}`,
      detail: `${about.kind} needs \`${[...namesAt(at), name].join(".")}\`.`,
    }));
  const inside = Object.entries(value).flatMap(([name, one]): Fault[] => {
    const here = `${at}${step(name)}`;
    if (looksLikeReference(name))
      return [{ pointer: here, detail: "A reference to a secret stands in a value, never in a name." }];
    if (Object.hasOwn(properties, name)) return faults(properties[name]!, one, here, about);
    if (additionalProperties === false || schema.unevaluatedProperties === false) {
      const list = known.length > FEW ? "" : ` It has ${known.map((one) => `\`${one}\``).join(", ")}.`;
      return [
        {
          pointer: here,
          detail: `There is no \`${[...namesAt(at), name.slice(0, 64)].join(".")}\` of ${about.kind}.${didYouMean(name, known) || list}`,
        },
      ];
    }
    const bad = propertyNames?.pattern !== undefined && !new RegExp(propertyNames.pattern, "u").test(name);
    if (bad) return [{ pointer: here, detail: `The name ${quoted(name)} ${patternFault(propertyNames.pattern!)}.` }];
    return faults(isObject(additionalProperties) ? (additionalProperties as Schema) : FREE, one, here, about);
  });
  const size = bounded(
    Object.keys(value).length,
    { least: schema.minProperties, most: schema.maxProperties, what: " members" },
    at,
    about,
  );
  return [...missing, ...size, ...inside];
}

function bounded(
  size: number,
  { least, most, what = "" }: { least: number | undefined; most: number | undefined; what?: string },
  at: string,
  { kind }: About,
): Fault[] {
  const wrong = (detail: string): Fault[] => [{ pointer: at, detail: `${nameAt(at)} of ${kind} ${detail}` }];
  if (least !== undefined && size < least)
    return wrong(what ? `must have at least ${least}${what}.` : `must be at least ${least}.`);
  if (most !== undefined && size > most)
    return wrong(what ? `must have at most ${most}${what}.` : `must be at most ${most}.`);
  return [];
}

/** A schema with what it refers to and what it is made of. */
function whole(schema: Schema): Schema {
  const parts = [...(schema.$ref ? [schemaOf(schema.$ref) ?? {}] : []), ...(schema.allOf ?? [])].map(whole);
  return parts.reduceRight<Schema>(
    (own, part) => ({
      ...part,
      ...own,
      properties: { ...part.properties, ...own.properties },
      required: [...(part.required ?? []), ...(own.required ?? [])],
    }),
    schema,
  );
}

function isA(type: string, value: unknown): boolean {
  if (type === "array") return Array.isArray(value);
  if (type === "object") return isObject(value);
  if (type === "integer") return Number.isInteger(value);
  return typeof value === type;
}

const namesAt = (pointer: string): string[] =>
  pointer
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
const nameAt = (pointer: string): string => (pointer === "" ? "The parameters" : `\`${namesAt(pointer).join(".")}\``);
