import { Problem } from "./problem.ts";

/** What a term asks of a field. `exists` and `missing` have no values, `in` and `not in` some, the others one. */
export type Operator = "=" | "!=" | "~" | "in" | "not in" | "exists" | "missing";

/** One term of a filter. Each of `paths` may hold the field's text; the first that does counts. */
export interface Term {
  readonly paths: readonly (readonly string[])[];
  readonly operator: Operator;
  readonly values: readonly string[];
}

/** Terms of one filter: each costs a comparison for every object of the page's scope. */
const TERMS = 32;
/** Values of one `in`: the provider asks for as many objects at once as Terraform works on. */
const VALUES = 200;

/** Short names of fields. */
const NAMES: Readonly<Record<string, Term["paths"]>> = {
  id: [["id"]],
  origin: [["origin"]],
  org: [["org"]],
  project: [["project"]],
  agent: [["spec", "agent"]],
  cluster: [
    ["spec", "destination", "cluster"],
    ["found", "live", "destination", "name"],
  ],
  repository: [
    ["spec", "source", "repository"],
    ["spec", "source", "repoUrl"],
  ],
  sync: [["status", "sync", "status"]],
  health: [["status", "health", "status"]],
  owner: [["found", "owner", "name"]],
};
/** Maps whose keys may hold dots and slashes: the rest of the field is the key. */
const MAPS = ["labels", "annotations"];

const FORM =
  "`filter` is a comma-separated list of terms that must all hold: `field=value`, `field!=value`, `field~text`, `field in (a,b)`, `field not in (a,b)`, `field exists` or `field missing`.";
const FIELDS = `A field is ${Object.keys(NAMES).join(", ")}, labels.KEY, annotations.KEY, spec.… or status.…`;

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
  const paths = pathsOf(field);
  if (presence !== undefined) return { paths, operator: presence as Operator, values: [] };
  if (among === undefined) return { paths, operator: sign as Operator, values: [unquoted(value!)] };
  const values = split(list!).map(unquoted);
  if (values.length > VALUES) throw refused(`\`${field} ${among}\` has ${values.length} values; the bound is ${VALUES}.`);
  return { paths, operator: among as Operator, values };
}

function pathsOf(field: string): Term["paths"] {
  const known = Object.hasOwn(NAMES, field) ? NAMES[field] : undefined;
  if (known) return known;
  const [head, ...rest] = field.split(".");
  const key = rest.join(".");
  if (MAPS.includes(head!) && key !== "") {
    return [
      ["spec", head!, key],
      ["found", "live", head!, key],
    ];
  }
  if (!/^(spec|status)(\.[A-Za-z0-9]{1,64}){1,8}$/.test(field)) throw refused(`\`${field}\` is not a field. ${FIELDS}`);
  return [[head!, ...rest]];
}

function unquoted(text: string): string {
  const value = text.trim();
  const quoted = /^"((?:[^"\\]|\\.)*)"$/s.exec(value);
  if (quoted) return quoted[1]!.replace(/\\(.)/gs, "$1");
  if (value.includes('"')) throw refused(`Put the whole value in double quotes: \`${value}\`.`);
  return value;
}

const refused = (why: string): Problem => new Problem("invalid_request", why, { pointer: "/query/filter" });
