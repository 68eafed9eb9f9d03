type Kind = "text" | "flag" | "whole" | "count" | "map" | "texts" | "textMap" | "list";
/** Field → what it must be: a kind, an object with fields, or a list of such objects. */
export interface Fields {
  readonly [name: string]: Kind | Fields | readonly [Fields];
}

/** How values are looked at where the shape alone leaves it open. */
export interface Reading {
  isText(value: unknown): boolean;
  isItem(value: unknown): boolean;
  maxItems: number;
}

const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const NAMES: Record<Kind, string> = {
  text: "a text",
  flag: "true or false",
  whole: "a whole number",
  count: "a whole number",
  map: "an object",
  texts: "a list of texts",
  textMap: "an object of texts",
  list: "a list of objects",
};

function fits(kind: Kind, value: unknown, { isText, isItem, maxItems }: Reading): boolean {
  switch (kind) {
    case "text":
      return isText(value);
    case "flag":
      return typeof value === "boolean";
    case "whole":
      return Number.isInteger(value);
    case "count":
      return Number.isInteger(value) || (typeof value === "string" && /^\d+$/.test(value));
    case "map":
      return isMap(value);
    case "texts":
      return Array.isArray(value) && value.length <= maxItems && value.every(isText);
    case "textMap":
      return isMap(value) && Object.values(value).every(isText);
    case "list":
      return Array.isArray(value) && value.length <= maxItems && value.every(isItem);
  }
}

/** The first field that has another type than its shape says, in words; null counts as not set. */
export function misshapen(fields: Fields, value: object, path: string, reading: Reading): string | undefined {
  for (const [name, kind] of Object.entries(fields)) {
    const field = (value as Record<string, unknown>)[name];
    if (field === undefined || field === null) continue;
    const problem = judge(kind, field, path ? `${path}.${name}` : name, reading);
    if (problem) return problem;
  }
  return undefined;
}

function judge(kind: Fields[string], field: unknown, at: string, reading: Reading): string | undefined {
  if (typeof kind === "string") return fits(kind, field, reading) ? undefined : `${at} must be ${NAMES[kind]}`;
  if (!isList(kind)) return isMap(field) ? misshapen(kind, field, at, reading) : `${at} must be an object`;
  if (!Array.isArray(field) || field.length > reading.maxItems) return `${at} must be ${NAMES.list}`;
  for (const [i, item] of field.entries()) {
    if (!reading.isItem(item)) return `${at} must be ${NAMES.list}`;
    const problem = misshapen(kind[0], item ?? {}, `${at}[${i}]`, reading);
    if (problem) return problem;
  }
  return undefined;
}

const isList = (kind: Fields | readonly [Fields]): kind is readonly [Fields] => Array.isArray(kind);
