import { setFlagsFromString } from "node:v8";
import { createContext, Script } from "node:vm";

// A regular expression may need exponential time here, which Go's never does; V8 lets a running match be ended from outside only through a context.
const LIMIT_MS = 100;
const TRIES = 3;
const MAX_PATTERN = 10_000;
const context = createContext(Object.create(null));
const matchAll = new Script(
  "JSON.stringify([...text.matchAll(new RegExp(pattern, flags))].slice(0, 10001).map((m) => ({ at: m.index, groups: [...m], places: m.indices.map((p) => p ? p[0] : null), named: m.groups })))",
);

/** An expression that is none, or that Go does not have. */
export class PatternFault extends Error {}
/** An expression beyond the bounds. It is an error, and must not be taken for one that does not match. */
export class PatternTooMuch extends PatternFault {}

export interface Match {
  at: number;
  groups: (string | undefined)[];
  /** Where each group begins; absent for one that has no part in the match. */
  places: (number | null)[];
  named?: Record<string, string | undefined>;
  /** The name of each group, where it has one; the first is the whole match. */
  names: readonly (string | undefined)[];
}

/** Every match of an expression in Go's syntax. Only texts go into the context; the code that runs there is ours. */
export function findAll(pattern: string, text: string, also = ""): Match[] {
  const { source, flags, names } = translate(pattern, also);
  Object.assign(context, { pattern: source, flags: `${flags}dgu`, text });
  try {
    const all = (JSON.parse(run()) as Match[]).map((match) => ({ ...match, names }));
    // Go ignores an empty match right behind another one.
    const found = all.filter(
      ({ at, groups }, i) => groups[0] !== "" || i === 0 || at > all[i - 1]!.at + all[i - 1]!.groups[0]!.length,
    );
    if (found.length > 10_000)
      throw new PatternTooMuch(`the regular expression ${pattern} matches more than 10000 times`);
    return found;
  } catch (error) {
    if (error instanceof PatternFault) throw error;
    if ((error as { code?: string }).code === "ERR_SCRIPT_EXECUTION_TIMEOUT")
      throw new PatternTooMuch(`the regular expression ${pattern} takes too long`);
    throw new PatternFault(`error parsing regexp: ${pattern}`);
  } finally {
    Object.assign(context, { pattern: "", text: "" });
  }
}

/** The limit is of the clock: where a busy machine gave others the time, the match has had none, and is tried again. */
function run(tries = TRIES): string {
  const before = process.cpuUsage();
  // Before a match V8 looks for what makes it fast. With optional parts in a row that takes the fifth power of their number, and no limit ends it.
  setFlagsFromString("--no-regexp-optimization");
  try {
    return matchAll.runInContext(context, { timeout: LIMIT_MS }) as string;
  } catch (error) {
    const { user, system } = process.cpuUsage(before);
    if (tries <= 1 || (user + system) / 1_000 > LIMIT_MS / 2) throw error;
    return run(tries - 1);
  } finally {
    setFlagsFromString("--regexp-optimization");
  }
}

// Go knows these alone, JavaScript many more.
const SPACE = "\\t\\n\\f\\r ";
const CLASSES: Record<string, string> = {
  alnum: "0-9A-Za-z",
  alpha: "A-Za-z",
  ascii: "\\x00-\\x7F",
  blank: "\\t ",
  cntrl: "\\x00-\\x1F\\x7F",
  digit: "0-9",
  graph: "!-~",
  lower: "a-z",
  print: " -~",
  punct: "!-\\/:-@\\[-`\\{-~",
  space: "\\t\\n\\v\\f\\r ",
  upper: "A-Z",
  word: "0-9A-Za-z_",
  xdigit: "0-9A-Fa-f",
};

// Nothing at all, and no text that V8 knows to be empty.
const NOTHING = "[^\\s\\S]?";

/** The same expression for JavaScript; what Go refuses (look-around, references back) is refused. */
function translate(pattern: string, also: string): { source: string; flags: string; names: (string | undefined)[] } {
  if (pattern.length > MAX_PATTERN) throw new PatternFault("error parsing regexp: longer than 10000 characters");
  let flags = also;
  let rest = pattern;
  const global = /^\(\?([imsU]+)\)/.exec(rest);
  if (global) {
    if (global[1]!.includes("U")) throw new PatternFault(`error parsing regexp: flag U is not supported: ${pattern}`);
    flags = [...new Set(also + global[1])].join("");
    rest = rest.slice(global[0].length);
  }
  const dot = flags.includes("s") ? "." : "[^\\n]";
  let source = "";
  const names: (string | undefined)[] = [undefined];
  for (let i = 0; i < rest.length; i++) {
    const c = rest[i]!;
    const ahead = rest.slice(i, i + 4);
    // An alternative that is empty takes exponential time where V8 makes the expression ready: this one is empty, too, and does not.
    if (/[|)]/.test(c) && /(^|[^\\](\\\\)*)(\(|\(\?:|\(\?<\w+>|\|)$/.test(source.slice(-100))) source += NOTHING;
    if (c === "\\") {
      const next = rest[++i] ?? "";
      if ((next === "b" || next === "B") && /[|)]/.test(rest[i + 1] ?? "")) source += `\\${next}${NOTHING}`;
      else if (next === "A") source += "^";
      else if (next === "z") source += "(?![\\s\\S])";
      else if (next === "a") source += "\\x07";
      else if (next === "s" || next === "S") source += next === "s" ? `[${SPACE}]` : `[^${SPACE}]`;
      else if (/[pP]/.test(next) && /[A-Z]/.test(rest[i + 1] ?? "")) source += `\\${next}{${rest[++i]}}`;
      else if (next === "Q") {
        const end = rest.indexOf("\\E", i);
        const plain = rest.slice(i + 1, end < 0 ? undefined : end);
        source += plain.replace(/[\\.+*?()|[\]{}^$/]/g, "\\$&");
        i += plain.length + (end < 0 ? 0 : 2);
      } else if (/[1-9]/.test(next))
        throw new PatternFault(`error parsing regexp: invalid escape sequence: \`\\${next}\``);
      else if (next === "x" && rest[i + 1] === "{") {
        source += "\\u";
      } else if (next === "-") source += "\\x2d";
      else source += /[\p{L}\p{Nd}^$\\.*+?()[\]{}|/]/u.test(next) ? `\\${next}` : next;
    } else if (c === "[") {
      const { text, end } = charClass(rest, i, pattern);
      source += text;
      i = end;
    } else if (/^\(\?P?<\w/.test(rest.slice(i, i + 5))) {
      names.push(/^\(\?P?<(\w+)/.exec(rest.slice(i))![1]);
      source += "(?<";
      i += ahead.startsWith("(?P") ? 3 : 2;
    } else if (/^\(\?[=!]/.test(ahead) || /^\(\?<[=!]/.test(ahead)) {
      throw new PatternFault(`error parsing regexp: invalid or unsupported Perl syntax: \`${ahead.slice(0, 3)}\``);
    } else if (c === "{" && !/^\{\d+(,\d*)?\}/.test(rest.slice(i))) source += "\\{";
    else if (c === "}" && !/\{\d+(,\d*)?$/.test(rest.slice(0, i))) source += "\\}";
    else if (c === "]") source += "\\]";
    else if (c === ".") source += dot;
    else if (c === "(" && rest[i + 1] !== "?") {
      names.push(undefined);
      source += c;
    } else source += c;
  }
  return { source, flags, names };
}

function charClass(text: string, from: number, pattern: string): { text: string; end: number } {
  let out = "[";
  let i = from + 1;
  if (text[i] === "^") {
    out += "^";
    i++;
  }
  for (let first = true; i < text.length; first = false, i++) {
    const c = text[i]!;
    if (c === "]" && !first) return { text: `${out}]`, end: i };
    const named = /^\[:(\^?)(\w+):\]/.exec(text.slice(i, i + 16));
    if (named && CLASSES[named[2]!] && !named[1]) {
      out += CLASSES[named[2]!];
      i += named[0].length - 1;
    } else if (c === "\\") {
      const next = text[++i] ?? "";
      if (next === "s") out += SPACE;
      else if (/[pP]/.test(next) && /[A-Z]/.test(text[i + 1] ?? "")) out += `\\${next}{${text[++i]}}`;
      else out += /[\p{L}\p{Nd}^$\\.*+?()[\]{}|/-]/u.test(next) ? `\\${next}` : next;
    } else if ("[]()|{}/".includes(c) || (c === "-" && (first || text[i + 1] === "]"))) out += `\\${c}`;
    else out += c;
  }
  throw new PatternFault(`error parsing regexp: missing closing ]: \`${pattern.slice(from)}\``);
}

/** Go's `$1`, `${name}` in a replacement; what names no group is nothing. */
export function expand(template: string, match: Match): string {
  return template.replace(/\$(?:\$|\{(\w+)\}|(\w+))/g, (all, braced: string | undefined, plain: string | undefined) => {
    if (all === "$$") return "$";
    const name = braced ?? plain!;
    if (/^\d+$/.test(name)) return match.groups[Number(name)] ?? "";
    return match.named?.[name] ?? "";
  });
}
