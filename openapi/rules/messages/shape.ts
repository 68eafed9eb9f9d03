import { closest } from "../suggest.ts";

type Schema = Record<string, any>;

export interface ShapeFault {
  pointer: string;
  detail: string;
}

// As many as an answer tells; more would only cost time.
const MOST = 20;
// A list of more names does not help.
const MOST_KNOWN = 12;

/**
 * Fields that a value has and its schema does not know, and fields that it lacks, all at once. A validator stops at the first of them, and
 * does not say which name was probably meant.
 */
export function shapeFaults(schema: Schema, value: unknown, deref: (ref: string) => Schema): ShapeFault[] {
  const found: ShapeFault[] = [];
  look(schema, value, "", deref, found);
  return found;
}

function look(schema: Schema, value: unknown, at: string, deref: (ref: string) => Schema, found: ShapeFault[]): void {
  if (found.length >= MOST || value === null || typeof value !== "object") return;
  const whole = membersOf(schema, deref);
  if (Array.isArray(value)) {
    if (!whole.items) return;
    for (const [i, item] of value.entries()) {
      if (found.length >= MOST) return;
      look(whole.items, item, `${at}/${i}`, deref, found);
    }
    return;
  }
  const object = value as Record<string, unknown>;
  const add = (name: string, detail: string) => {
    if (found.length < MOST) found.push({ pointer: `${at}/${escaped(name)}`, detail });
  };
  // Unknown fields come first: they are often misspelt names of missing ones.
  if (whole.closed)
    for (const name of Object.keys(object))
      if (!whole.properties.has(name)) add(name, unknown(name, [...whole.properties.keys()]));
  for (const name of whole.required) if (!Object.hasOwn(object, name)) add(name, `missing field \`${name}\``);
  for (const [name, member] of Object.entries(object)) {
    const of = whole.properties.get(name) ?? whole.others;
    if (of) look(of, member, `${at}/${escaped(name)}`, deref, found);
  }
}

interface Members {
  properties: Map<string, Schema>;
  required: Set<string>;
  /** No other fields may be there. */
  closed: boolean;
  items: Schema | undefined;
  /** The schema of fields that have no name of their own. */
  others: Schema | undefined;
}

/** What a schema and the parts that it is made of say of an object's fields. */
function membersOf(schema: Schema, deref: (ref: string) => Schema): Members {
  const all: Members = {
    properties: new Map(),
    required: new Set(),
    closed: false,
    items: undefined,
    others: undefined,
  };
  const take = (part: Schema): void => {
    if (part.$ref) take(deref(part.$ref));
    for (const one of part.allOf ?? []) take(one);
    for (const [name, member] of Object.entries<Schema>(part.properties ?? {})) all.properties.set(name, member);
    for (const name of part.required ?? []) all.required.add(name);
    if (part.additionalProperties === false || part.unevaluatedProperties === false) all.closed = true;
    if (part.additionalProperties && typeof part.additionalProperties === "object")
      all.others = part.additionalProperties;
    if (part.items) all.items = part.items;
  };
  take(schema);
  return all;
}

function unknown(name: string, known: readonly string[]): string {
  const said = `unknown field \`${name.length > 64 ? `${name.slice(0, 63)}…` : name}\``;
  const meant = closest(name, known);
  if (meant !== undefined) return `${said}; did you mean \`${meant}\`?`;
  if (known.length === 0 || known.length > MOST_KNOWN) return said;
  return `${said}; known are ${known.map((one) => `\`${one}\``).join(", ")}`;
}

const escaped = (name: string): string => name.replaceAll("~", "~0").replaceAll("/", "~1");

/** Whether a validator's message is one of those that `shapeFaults` says better. */
export const isOfShape = (message: string): boolean =>
  /^must (NOT have (additional|unevaluated) properties|have required property )/.test(message);
