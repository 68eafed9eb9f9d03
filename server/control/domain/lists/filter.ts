import { Problem } from "../problem.ts";
import { FACETS, type Field, fieldNamed } from "./fields.ts";

/** What a term asks of a field. `exists` and `missing` have no values, `in` and `not in` some, the others one. */
export type Operator = "=" | "!=" | "~" | "in" | "not in" | "exists" | "missing";

/** One term of a filter. */
export interface Term extends Field {
  readonly operator: Operator;
  readonly values: readonly string[];
}

/** Terms of one filter: each costs a comparison for every object of the page's scope. */
const TERMS = 32;
/** Values of one `in`: the provider asks for as many objects at once as Terraform works on. */
const VALUES = 200;

const FORM =
  "`filter` is a comma-separated list of terms that must all hold: `field=value`, `field!=value`, `field~text`, `field in (a,b)`, `field not in (a,b)`, `field exists` or `field missing`.";
const FIELDS = `A field is ${Object.keys(FACETS).join(", ")}, labels.KEY, annotations.KEY, spec.… or status.…`;

/**
 * `health!=Healthy,id in (web,api),labels.app.kubernetes.io/part-of=shop` as terms that must all hold. A value with a comma, a bracket or a quote
 * stands in double quotes, where `\"` is a quote and `\\` a backslash. Throws `invalid_request`, which names the term.
 */
export function parseFilter(text: string | undefined): Term[] {
  if (!text?.trim()) return [];
  const terms = split(text).map(parseTerm);
  if (terms.length > TERMS) throw refused(`It has ${terms.length} terms; the bound is ${TERMS}.`);
  return terms;
}

/** Comma-separated parts. Commas in quotes and brackets do not separate. */
function split(text: string): string[] {
  const parts: string[] = [];
  let [start, depth, quoted] = [0, 0, false];
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (quoted && c === "\\") i++;
    else if (c === '"') quoted = !quoted;
    else if (quoted) continue;
    else if (c === "(") depth++;
    else if (c === ")") depth--;
    else if (c === "," && depth === 0) {
      parts.push(text.slice(start, i));
      start = i + 1;
    }
    if (depth < 0 || depth > 1) throw refused("A bracket has no partner.");
  }
  if (quoted || depth > 0) throw refused(quoted ? "A quote is not closed." : "A bracket is not closed.");
  parts.push(text.slice(start));
  return parts;
}

const TERM = /^([A-Za-z][A-Za-z0-9._/-]*?)\s*(?:(!=|=|~)(.*)|\s(in|not in)\s*\((.*)\)|\s(exists|missing))$/s;

function parseTerm(part: string): Term {
  const [, field, sign, value, among, list, presence] = TERM.exec(part.trim()) ?? [];
  if (field === undefined) throw refused(`\`${part.trim()}\` is not a term. ${FORM}`);
  const named = fieldNamed(field);
  if (!named) throw refused(`\`${field}\` is not a field. ${FIELDS}`);
  if (presence !== undefined) return { ...named, operator: presence as Operator, values: [] };
  if (among === undefined) return { ...named, operator: sign as Operator, values: [unquoted(value!)] };
  const values = split(list!).map(unquoted);
  if (values.length > VALUES)
    throw refused(`\`${field} ${among}\` has ${values.length} values; the bound is ${VALUES}.`);
  return { ...named, operator: among as Operator, values };
}

function unquoted(text: string): string {
  const value = text.trim();
  const quoted = /^"((?:[^"\\]|\\.)*)"$/s.exec(value);
  if (quoted) return quoted[1]!.replace(/\\(.)/gs, "$1");
  if (value.includes('"')) throw refused(`Put the whole value in double quotes: \`${value}\`.`);
  return value;
}

const refused = (why: string): Problem => new Problem("invalid_request", why, { pointer: "/query/filter" });
