import { FACETS, type Facet, type Field, type Paths } from "./fields.ts";
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

/** The texts that filters of streams look at: read once from an event, and asked for by each of its watchers. */
export type Facets = Partial<Record<Facet, string>> & { labels?: Record<string, string> };

const NAMES = Object.keys(FACETS) as Facet[];

export function facetsOf(object: Filterable): Facets {
  const texts = NAMES.map((name) => [name, textAt(FACETS[name], object)] as const).filter(
    ([, text]) => text !== undefined,
  );
  const { spec, found } = object as { spec: { labels?: object }; found?: { live?: { labels?: object } } };
  return { ...Object.fromEntries(texts), labels: { ...found?.live?.labels, ...spec.labels } as Record<string, string> };
}

/** Whether a field is among the facets. */
export const isFaceted = ({ facet, label }: Field): boolean => facet !== undefined || label !== undefined;

/** `matches` for terms whose fields are all among the facets. */
export const matchesFacets = (terms: readonly Term[], facets: Facets): boolean =>
  terms.every(({ facet, label, operator, values }) =>
    CONDITIONS[operator](facet ? facets[facet] : labelOf(facets, label!), values),
  );

const labelOf = ({ labels }: Facets, key: string): string | undefined =>
  labels && Object.hasOwn(labels, key) ? labels[key] : undefined;

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
