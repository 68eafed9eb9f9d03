import { quoted } from "./fault.ts";
import { parseJq } from "./jq/parse.ts";
import { didYouMean } from "./suggest.ts";

/** A JSON pointer, RFC 6901. */
export function jsonPointerFault(text: string): string | undefined {
  if (!text.startsWith("/"))
    return `${quoted(text)} is not a JSON pointer: begin with \`/\`, for example \`/spec/replicas\`.`;
  if (/~(?![01])/.test(text))
    return `${quoted(text)} is not a JSON pointer: write \`~\` as \`~0\` and a \`/\` inside a name as \`~1\`, for example \`/metadata/annotations/example.com~1note\`.`;
  return undefined;
}

// What Argo CD's jq has and this project's engine does not read. Only brackets and quotes are checked there.
const BEYOND = /\b(import|include)\b|\$(ENV|__loc__)\b|#/;

/** A jq path expression. */
export function jqFault(text: string): string | undefined {
  const example = "for example `.spec.template.spec.containers[].image`";
  if (text.trim() === "") return `A jq expression must not be empty: name a path, ${example}.`;
  const open = unbalanced(text);
  if (open) return `The jq expression ${quoted(text)} cannot be read: ${open}. Write a path, ${example}.`;
  if (BEYOND.test(text)) return undefined;
  try {
    const unknown = callsIn(parseJq(text)).find((name) => !JQ_FUNCTIONS.includes(name));
    if (unknown === undefined) return undefined;
    const hint = didYouMean(unknown, JQ_FUNCTIONS) || ` A path begins with a dot: \`.${unknown.slice(0, 64)}\`.`;
    return `The jq expression ${quoted(text)} cannot be used: there is no function \`${unknown.slice(0, 64)}\`.${hint}`;
  } catch (error) {
    return `The jq expression ${quoted(text)} cannot be read: ${(error as Error).message}. Write a path, ${example}.`;
  }
}

/** Every function of Argo CD's jq, also those that this project's engine does not have. */
const JQ_FUNCTIONS =
  "IN INDEX abs acos acosh add all any arrays ascii ascii_downcase ascii_upcase asin asinh atan atan2 atanh booleans bsearch builtins capture cbrt ceil combinations contains copysign cos cosh date dateadd datesub debug del delpaths drem empty endswith env erf erfc error exp exp10 exp2 explode expm1 fabs fdim finites first flatten floor fma fmax fmin fmod format frexp from_entries fromdate fromdateiso8601 fromjson fromstream gamma get_search_list getpath gmtime group_by gsub halt halt_error has have_decnum have_literal_numbers hypot implode in index indices infinite input input_filename input_line_number inputs inside isempty isinfinite isnan isnormal isvalid iterables j0 j1 join keys keys_unsorted last ldexp leaf_paths length lgamma lgamma_r limit localtime log log10 log1p log2 logb ltrim ltrimstr map map_values match max max_by min min_by mktime modf modulemeta nan nearbyint nextafter nexttoward normals not now nth nulls numbers objects path paths pick pow pow10 range recurse recurse_down repeat reverse rindex rint round rtrim rtrimstr scalars scalb scalbln scan select setpath significand sin sinh skip sort sort_by split splits sqrt startswith stderr strflocaltime strftime strings strptime sub tan tanh test tgamma to_entries toarray toboolean todate todateiso8601 tojson tonumber tostream tostring transpose trim trimstr trunc truncate_stream type unique unique_by until utf8bytelength values walk while with_entries y0 y1".split(
    " ",
  );

/** The functions that a program calls. */
function callsIn(program: unknown): string[] {
  if (typeof program !== "object" || program === null) return [];
  const { is, name, own } = program as { is?: unknown; name?: unknown; own?: unknown };
  // Some have a name that only the parser gives, with a dot or a sign.
  const called = is === "call" && !own && typeof name === "string" && /^\w+$/.test(name);
  return [...(called ? [name] : []), ...Object.values(program).flatMap(callsIn)];
}

const PAIRS: Readonly<Record<string, string>> = { ")": "(", "]": "[", "}": "{" };

/** Errors in the brackets and quotes of an expression. */
function unbalanced(text: string): string | undefined {
  const open: string[] = [];
  const plain = text.replace(/"(?:[^"\\]|\\.)*"/g, "");
  if (plain.includes('"')) return 'a `"` is not closed';
  for (const char of plain) {
    if ("([{".includes(char)) open.push(char);
    else if (char in PAIRS && open.pop() !== PAIRS[char]) return `\`${char}\` closes nothing`;
  }
  return open.length > 0 ? `\`${open.at(-1)}\` is not closed` : undefined;
}

/** A glob: `*`, `?`, `[a-z]`, `{a,b}`. An unreadable one matches nothing; its error was reported before. */
export function globFault(text: string, braces = true): string | undefined {
  const fault = (what: string) =>
    `The pattern ${quoted(text)} cannot be read: ${what}. Write a glob, for example \`team-*\`.`;
  if (text === "") return "A pattern must not be empty: `*` means all.";
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const char = text[i]!;
    if (char === "\\") {
      if (i + 1 === text.length) return fault("nothing follows the last `\\`");
      i++;
    } else if (char === "[") {
      const end = text.indexOf("]", text[i + 1] === "!" || text[i + 1] === "^" ? i + 3 : i + 2);
      if (end < 0) return fault("`[` is not closed");
      const range = backwards(text.slice(i + 1, end));
      if (range) return fault(`the range \`${range}\` runs backwards`);
      i = end;
    } else if (braces && char === "{") depth++;
    else if (braces && char === "}" && depth > 0) depth--;
  }
  return depth > 0 ? fault("`{` is not closed") : undefined;
}

/** The first range of a class whose end comes before its beginning, as in `[z-a]`. */
function backwards(inside: string): string | undefined {
  for (const [range, from, to] of inside.matchAll(/\\?([^\\])-\\?([^\\])/gu))
    if (from!.codePointAt(0)! > to!.codePointAt(0)!) return range;
  return undefined;
}

/** A pattern of a project's list, which `!` in front turns around. */
export const denyGlobFault = (text: string): string | undefined =>
  globFault(text.startsWith("!") ? text.slice(1) : text);

/** An address with wildcards: braces are letters there. */
export const addressGlobFault = (text: string): string | undefined =>
  globFault(text.startsWith("!") ? text.slice(1) : text, false);

/** A regular expression in Go's syntax (RE2). */
export function regexFault(text: string): string | undefined {
  const wrong = (what: string) =>
    `The regular expression ${quoted(text)} cannot be read: ${what}. Write it in Go's syntax, for example \`^release-.*$\`.`;
  const look = /\(\?<?[=!]/.exec(text.replace(/\\./g, ""));
  if (look) return wrong(`\`${look[0]}\` looks ahead or behind, which Go's expressions cannot`);
  const script = text
    .replace(/\(\?P</g, "(?<")
    .replace(/\(\?([imsU]+(-[imsU]+)?|-[imsU]+):/g, "(?:")
    .replace(/\(\?[imsU-]+\)/g, "")
    .replace(/\\A/g, "^")
    .replace(/\\[zZ]/g, "$")
    .replace(/\[\[:\^?[a-z]+:\]\]/g, "[a-z]")
    .replace(/\[:\^?[a-z]+:\]/g, "a-z")
    .replace(/\\[pP]([A-Z]|\{\^?[A-Za-z_]+\})/g, "a")
    .replace(/\\Q.*?\\E/g, "a");
  try {
    new RegExp(script);
    return undefined;
  } catch (error) {
    return wrong((error as Error).message.replace(/^Invalid regular expression: \/.*\/\w*: /s, "").toLowerCase());
  }
}
