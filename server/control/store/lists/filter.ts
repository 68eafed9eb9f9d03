import type { Field } from "../../domain/lists/fields.ts";
import type { Operator, Term } from "../../domain/lists/filter.ts";
import { COLUMN_OF } from "./columns.ts";

type Bind = (value: unknown) => string;

/** The same in memory: `domain/lists/predicate.ts`. In the collation "C" letters are folded alike in every database. */
const CONDITIONS: Readonly<Record<Operator, (text: string, values: readonly string[], bind: Bind) => string>> = {
  "=": (text, [value], bind) => `${text} = ${bind(value)}`,
  "!=": (text, [value], bind) => `${text} is distinct from ${bind(value)}`,
  "~": (text, [value], bind) => `strpos(lower(${text} collate "C"), lower(${bind(value)}::text collate "C")) > 0`,
  in: (text, values, bind) => `${text} = any(${bind(values)}::text[])`,
  "not in": (text, values, bind) => `(${text} = any(${bind(values)}::text[])) is not true`,
  exists: (text) => `${text} is not null`,
  missing: (text) => `${text} is null`,
};

/** The condition of one term over the rows of `objects`. Each value is a parameter. */
export const printTerm = (term: Term, bind: Bind): string =>
  CONDITIONS[term.operator](textOf(term, bind), term.values, bind);

/** A field's text: of a stored column where there is one, which spares reading the whole object. */
export function textOf({ facet, label, paths }: Field, bind: Bind): string {
  if (facet) return COLUMN_OF[facet];
  if (label !== undefined) return `(f_labels ->> ${bind(label)}::text)`;
  const texts = paths.map(([column, ...rest]) => `${column} #>> ${bind(rest)}::text[]`);
  return texts.length === 1 ? `(${texts[0]})` : `coalesce(${texts.join(", ")})`;
}
