import {
  type Collection,
  type DeliveredCollection,
  type DiscoveredCollection,
  type NounOf,
  type NounRow,
  nouns as rows,
} from "../../../openapi/contract/nouns.ts";
import document from "../../../openapi/contract/openapi.json" with { type: "json" };
import type { components } from "../../../openapi/contract/types.ts";
import type { Fault } from "../../../openapi/contract/validators.js";
import * as validators from "../../../openapi/contract/validators.js";
import type { Level } from "./scope.ts";

export type Schemas = components["schemas"];

export type { Collection, DeliveredCollection, DiscoveredCollection };
/** An object of a collection as the contract shows it. */
export type ObjectOf<C extends Collection> = Schemas[NounOf[C]];

type Check = ((value: unknown) => boolean) & { errors?: Fault[] | null };
type JsonSchema = Record<string, any>;

/** What the contract says of a noun, read once from its document. */
export interface Noun {
  collection: Collection;
  scopes: readonly Level[];
  validateSpec: Check;
  validateStatus: Check;
  /** Defaults, references and the fields that move an object come from here. */
  specSchema: JsonSchema;
  /** Its objects may have credentials, which are sealed to their agent. */
  credentials: boolean;
  /** Top-level fields of spec whose change moves the object to another agent. */
  moves: readonly string[];
  /** References by path; `*` stands for each element of a list. */
  references: readonly { path: readonly string[]; to: Collection }[];
}

const schemas = document.components.schemas as JsonSchema;

function noun(collection: Collection): Noun {
  const { name, scopes } = rows[collection];
  const specSchema = schemas[`${name}Spec`];
  const properties: [string, JsonSchema][] = Object.entries(specSchema.properties ?? {});
  const table = validators as unknown as Record<string, Check>;
  return {
    collection,
    scopes,
    validateSpec: table[`validate${name}Spec`]!,
    validateStatus: table[`validate${name}Status`]!,
    specSchema,
    credentials: specSchema.properties?.sealedCredentials !== undefined,
    moves: properties.filter(([, schema]) => schema["x-moves"]).map(([key]) => key),
    references: findReferences(specSchema, []),
  };
}

function findReferences(schema: JsonSchema, path: string[]): { path: string[]; to: Collection }[] {
  const { $ref, ...own } = schema;
  const whole = $ref ? { ...deref($ref), ...own } : schema;
  if (whole["x-reference"]) return [{ path, to: whole["x-reference"] }];
  const found = Object.entries<JsonSchema>(whole.properties ?? {}).flatMap(([key, member]) =>
    findReferences(member, [...path, key]),
  );
  return whole.items ? [...found, ...findReferences(whole.items, [...path, "*"])] : found;
}

/** The schema a `$ref` of the document names. */
export function deref(ref: string): JsonSchema {
  return schemas[ref.slice(ref.lastIndexOf("/") + 1)];
}

const collections = Object.keys(rows) as Collection[];

export const nouns = Object.fromEntries(collections.map((collection) => [collection, noun(collection)])) as {
  readonly [C in Collection]: Noun;
};

const rowOf = (collection: string): NounRow | undefined => (rows as Readonly<Record<string, NounRow>>)[collection];

export function isDelivered(collection: string): collection is DeliveredCollection {
  return rowOf(collection)?.delivered !== undefined;
}

export function isDiscovered(collection: string): collection is DiscoveredCollection {
  return rowOf(collection)?.discovered === true;
}

/** What others use comes first: an application finds its project, its repository and its cluster there. */
export const DELIVERY_ORDER: readonly Collection[] = collections
  .filter(isDelivered)
  .sort((a, b) => rows[a].delivered - rows[b].delivered);
