import type { Operator, Term } from "../../domain/filter.ts";

type Bind = (value: unknown) => string;

/** Columns that are text; any other head of a path is a column of JSON. */
const TEXTS = ["id", "origin", "org", "project"];

const CONDITIONS: Readonly<Record<Operator, (text: string, values: readonly string[], bind: Bind) => string>> = {
  "=": (text, [value], bind) => `${text} = ${bind(value)}`,
  "!=": (text, [value], bind) => `${text} is distinct from ${bind(value)}`,
  "~": (text, [value], bind) => `strpos(lower(${text}), lower(${bind(value)})) > 0`,
  in: (text, values, bind) => `${text} = any(${bind(values)}::text[])`,
  "not in": (text, values, bind) => `(${text} = any(${bind(values)}::text[])) is not true`,
  exists: (text) => `${text} is not null`,
  missing: (text) => `${text} is null`,
};

/** The condition of one term over the rows of `objects`. Each value is a parameter. */
export function printTerm({ paths, operator, values }: Term, bind: Bind): string {
  const texts = paths.map(([head, ...rest]) => (TEXTS.includes(head!) ? head! : `${head} #>> ${bind(rest)}::text[]`));
  return CONDITIONS[operator](texts.length === 1 ? texts[0]! : `coalesce(${texts.join(", ")})`, values, bind);
}
