import type { Cursor } from "./cursor.ts";
import type { Jq } from "./tree.ts";

/** The variables of a pattern: the whole value has the first name, and each other is found in one that stands before it. */
export interface Pattern {
  name: string;
  parts: { name: string; of: Jq }[];
}

/** What a pattern may have in it: a whole expression in parentheses, and the name of an entry. */
export interface Reader {
  cursor: Cursor;
  entryKey(): Jq;
  /** A name that no user can write. */
  fresh(): string;
}

export const namesOf = ({ name, parts }: Pattern): string[] => [name, ...parts.map((part) => part.name)];

/** A pattern such as `$x` or `[$a, {b: $c}]`. */
export function pattern(reader: Reader): Pattern {
  const { cursor } = reader;
  if (cursor.next.kind === "name") return { name: cursor.variable(), parts: [] };
  return cursor.deeper(() => {
    const name = reader.fresh();
    const whole: Jq = { is: "variable", name };
    const parts: Pattern["parts"] = [];
    const add = (key: Jq) => {
      const inner = pattern(reader);
      parts.push({ name: inner.name, of: { is: "index", of: whole, key } }, ...inner.parts);
    };
    if (cursor.take("[")) {
      let index = 0;
      // Only a list has items by number here, unlike elsewhere a text.
      parts.push({ name, of: { is: "call", name: ".list", parts: [whole] } });
      do add({ is: "literal", value: index++ });
      while (cursor.take(","));
      cursor.need("]");
    } else {
      cursor.need("{");
      do {
        if (cursor.next.text.startsWith("$")) {
          const own = cursor.variable();
          const key: Jq = { is: "literal", value: own };
          parts.push({ name: own, of: { is: "index", of: whole, key } });
          if (cursor.take(":")) add(key);
        } else {
          const key = reader.entryKey();
          cursor.need(":");
          add(key);
        }
      } while (cursor.take(","));
      cursor.need("}");
    }
    return { name, parts };
  });
}

/** `$a ?// [$b]`: patterns of which the first that fits counts. */
export function patterns(reader: Reader): Pattern[] {
  const found = [pattern(reader)];
  while (reader.cursor.take("?//")) found.push(pattern(reader));
  return found;
}

/** The values of a pattern put into a body: one binding for each of its names. */
export function withParts({ parts }: Pattern, body: Jq, size: number): Jq {
  return parts.reduceRight<Jq>((rest, part) => ({ is: "bind", name: part.name, of: part.of, body: rest, size }), body);
}

/** `of as patterns | body`. Names of other choices are nothing in a choice. */
export function binding(of: Jq, choices: readonly Pattern[], body: Jq, size: number): Jq {
  const [first] = choices;
  if (choices.length === 1) return { is: "bind", name: first!.name, of, body: withParts(first!, body, size), size };
  const nothing: Jq = { is: "literal", value: null };
  const value = `.${first!.name}.value`;
  const names = [...new Set(choices.flatMap(namesOf))];
  const choice = (one: Pattern): Jq => {
    const inside: Jq = {
      is: "bind",
      name: one.name,
      of: { is: "variable", name: value },
      body: withParts(one, body, size),
      size,
    };
    const own = namesOf(one);
    return names
      .filter((name) => !own.includes(name))
      .reduce<Jq>((rest, name) => ({ is: "bind", name, of: nothing, body: rest, size }), inside);
  };
  return { is: "bind", name: value, of, body: { is: "choices", of: choices.map(choice) }, size };
}
