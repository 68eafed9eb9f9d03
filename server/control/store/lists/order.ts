import { isFacet } from "../../domain/lists/fields.ts";
import { COLUMN_OF } from "./columns.ts";

export interface Order {
  /** A name of `sort`: `createdAt`, `updatedAt` or one of FACETS. */
  field: string;
  descending: boolean;
}

/** This many characters of a text count for the order: they are part of the cursor, and an address may have 2,048. */
const SORTED = 100;

const TIMES: Readonly<Record<string, string>> = { createdAt: "created_at", updatedAt: "updated_at" };

/** `-updatedAt` as an order. */
export const readOrder = (sort: string | undefined): Order | undefined =>
  sort === undefined ? undefined : { field: sort.replace(/^-/, ""), descending: sort.startsWith("-") };

/** What an order compares: never null, and the same in every database. */
export function keyOf({ field }: Order): string {
  const time = TIMES[field];
  if (time) return time;
  if (!isFacet(field)) throw new Error(`there is no order by ${field}`);
  return `left(coalesce(${COLUMN_OF[field]}, ''), ${SORTED}) collate "C"`;
}

/** What lets PostgreSQL take the index of the newest; every object has it. */
export const conditionsOf = ({ field }: Order): string[] => (field === "updatedAt" ? ["updated_at > '-infinity'"] : []);

/** What an order compares, as it stands in a cursor: a time as microseconds, which no time zone changes. */
export const valueFor = ({ field }: Order, key: string): string =>
  TIMES[field] ? `(extract(epoch from ${key}) * 1000000)::bigint` : key;

/** A cursor's value in the form that the key is compared with. */
export const boundOf = ({ field }: Order, bound: string): string =>
  TIMES[field] ? `timestamptz 'epoch' + ${bound}::float8 * interval '1 microsecond'` : bound;

/** The kind of value that an order has in a cursor. */
export const cursorTypeOf = ({ field }: Order): "string" | "number" => (TIMES[field] ? "number" : "string");
