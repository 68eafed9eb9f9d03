import type { Paths } from "./fields.ts";
import type { Operator, Term } from "./filter.ts";

/** The part of an object that filters look at. */
export interface Filterable {
  id: string;
  org: string;
  project: string;
  origin: string;
  spec: object;
  status: object;
  found?: object | undefined;
}

type Holds = (text: string | undefined, values: readonly string[]) => boolean;

const CONDITIONS: Readonly<Record<Operator, Holds>> = {
  "=": (text, [value]) => text === value,
  "!=": (text, [value]) => text !== value,
  "~": (text, [value]) => text !== undefined && lower(text).includes(lower(value!)),
  in: (text, values) => text !== undefined && values.includes(text),
  "not in": (text, values) => text === undefined || !values.includes(text),
  exists: (text) => text !== undefined,
  missing: (text) => text === undefined,
};

/** Whether all terms hold of an object. It answers as the condition in SQL does (`store/lists/filter.ts`); a test compares the two. */
export const matches = (terms: readonly Term[], object: Filterable): boolean =>
  terms.every(({ paths, operator, values }) => CONDITIONS[operator](textAt(paths, object), values));

/** The text of a field, as PostgreSQL's `#>>` gives it. */
export function textAt(paths: Paths, object: Filterable): string | undefined {
  for (const path of paths) {
    let value: unknown = object;
    for (const step of path) value = memberOf(value, step);
    if (value !== undefined && value !== null) return typeof value === "string" ? value : jsonText(value);
  }
  return undefined;
}

function memberOf(value: unknown, step: string): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  if (Array.isArray(value)) return /^[0-9]+$/.test(step) ? value[Number(step)] : undefined;
  return Object.hasOwn(value, step) ? (value as Record<string, unknown>)[step] : undefined;
}

/** Only ASCII letters: what else a database folds depends on its locale. */
const lower = (text: string): string => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());

/** JSON as PostgreSQL prints a jsonb: the shorter key first, and a space after each comma and colon. */
function jsonText(value: unknown): string {
  if (typeof value === "number") return numberText(value);
  if (Array.isArray(value)) return `[${value.map(jsonText).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([key, member]) => ({ key, bytes: Buffer.from(key), member }));
  members.sort((a, b) => a.bytes.length - b.bytes.length || a.bytes.compare(b.bytes));
  return `{${members.map(({ key, member }) => `${JSON.stringify(key)}: ${jsonText(member)}`).join(", ")}}`;
}

/** A number without an exponent. */
function numberText(value: number): string {
  const [, sign, digits, fraction = "", exponent] = /^(-?)(\d+)(?:\.(\d+))?e([+-]\d+)$/.exec(String(value)) ?? [];
  if (exponent === undefined) return JSON.stringify(value);
  const point = digits!.length + Number(exponent);
  const all = digits! + fraction;
  if (point <= 0) return `${sign}0.${"0".repeat(-point)}${all}`;
  return all.length <= point ? `${sign}${all.padEnd(point, "0")}` : `${sign}${all.slice(0, point)}.${all.slice(point)}`;
}
