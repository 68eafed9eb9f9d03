import { quote, text } from "../format.ts";
import { type Callable, fn } from "../function.ts";
import { byBytes, StringMap, TemplateError, type Value } from "../value.ts";
import { asText, asTexts } from "./convert.ts";
import { expand, findAll, PatternTooMuch } from "./regex.ts";

/** Letter by letter: an expression made of a text of megabytes ends the process, and one for the end of a text is slow for a long one. */
function trimSet(text: string, set: string): string {
  const [gone, letters] = [new Set(set), [...text]];
  let [from, to] = [0, letters.length];
  while (from < to && gone.has(letters[from]!)) from++;
  while (to > from && gone.has(letters[to - 1]!)) to--;
  return letters.slice(from, to).join("");
}
const present = (args: Value[]) => args.filter((arg) => arg !== null && arg !== undefined);
const indent = (width: bigint, content: string) => {
  if (width < 0n) throw new TemplateError("strings: negative Repeat count");
  if (width > 10_000n || Number(width) * content.split("\n").length > 1_048_576)
    throw new TemplateError("an indent of more than 1 MiB");
  const pad = " ".repeat(Number(width));
  return pad + content.replaceAll("\n", `\n${pad}`);
};
const split = (separator: string, content: string): string[] =>
  separator === "" ? [...content] : content.split(separator);
const numbered = (parts: string[]) => new StringMap(parts.map((part, i) => [`_${i}`, part]));
const title = (content: string) =>
  content.replace(/(?<![\p{L}\p{Nd}_]|[^\s\0-\x7f])\p{L}/gu, (letter) => letter.toUpperCase());

/** Go slices bytes: where one would end inside a character there is a question mark in a box. */
const bytes = (content: string, from: number, to: number) => {
  if (from > to) throw new TemplateError(`slice bounds out of range [${from}:${to}]`);
  const all = Buffer.from(content);
  if (from < 0 || to > all.length)
    throw new TemplateError(`slice bounds out of range [${from}:${to}] with length ${all.length}`);
  return all.subarray(from, to).toString("utf8");
};

function trunc(count: number, content: string): string {
  const size = Buffer.byteLength(content);
  if (count < 0 && size + count > 0) return bytes(content, size + count, size);
  return count >= 0 && size > count ? bytes(content, 0, count) : content;
}

function abbreviate(left: number, right: number, content: string): string {
  const size = content.length;
  if (right < 4 || (left > 0 && right < 7) || size <= right) return content;
  const offset = size - left < right - 3 ? size - (right - 3) : left;
  if (offset <= 4) return `${content.slice(0, right - 3)}...`;
  if (offset + right - 3 < size) return `...${abbreviate(0, right - 3, content.slice(offset))}`;
  return `...${content.slice(size - (right - 3))}`;
}

/** Words of a name: camel case, digits and separators divide them. */
function snake(content: string, separator: string): string {
  return content
    .replace(/([\p{Ll}\p{Nd}])(\p{Lu})/gu, "$1 $2")
    .replace(/(?<!\p{Lu})(\p{Lu}+)(\p{Lu}\p{Ll})/gu, "$1 $2")
    .replace(/(\p{L})(\p{Nd}+)(?=\p{Ll})/gu, "$1 $2")
    .replace(/[\s_-]/g, separator)
    .toLowerCase();
}

const isConnector = (char: string | undefined): boolean => char !== undefined && /[-_\s]/.test(char);
const isUpper = (char: string): boolean => /\p{Lu}/u.test(char);

/** Words run together, each with a capital; of capitals in a row at a word's beginning only the first stays. */
function pascal(content: string): string {
  const chars = [...content];
  const start = chars.findIndex((char) => !isConnector(char));
  // Of connectors alone the last one comes twice.
  if (start < 0) return content + (chars.at(-1) ?? "");
  let out = chars.slice(0, start).join("");
  let capitals = isUpper(chars[start]!);
  let last = chars[start]!.toUpperCase();
  for (const char of chars.slice(start + 1)) {
    let next = char;
    if (!isConnector(last)) {
      if (capitals && isUpper(char)) next = char.toLowerCase();
      else capitals = false;
      out += last;
    } else if (isConnector(char)) out += last;
    else {
      capitals = isUpper(char);
      next = char.toUpperCase();
    }
    last = next;
  }
  return out + last;
}

function wrapAt(width: bigint, separator: string, content: string, breakLong: boolean): string {
  const size = width < 1n ? 1 : Number(width);
  let out = "";
  let rest = content;
  while (rest.length > size) {
    if (rest[0] === " ") {
      rest = rest.slice(1);
      continue;
    }
    const blank = rest.lastIndexOf(" ", size);
    if (blank >= 0) {
      out += rest.slice(0, blank) + separator;
      rest = rest.slice(blank + 1);
    } else if (breakLong) {
      out += rest.slice(0, size) + separator;
      rest = rest.slice(size);
    } else {
      const next = rest.indexOf(" ", size);
      if (next < 0) break;
      out += rest.slice(0, next) + separator;
      rest = rest.slice(next + 1);
    }
  }
  return out + rest;
}

const regexReplace = (literal: boolean) =>
  fn("sss", ([pattern, content, replacement]) => {
    let out = "";
    let from = 0;
    for (const match of findAll(pattern, content)) {
      out += content.slice(from, match.at) + (literal ? replacement : expand(replacement, match));
      from = match.at + match.groups[0]!.length;
    }
    return out + content.slice(from);
  });
const regexFindAll = fn("ssi", ([pattern, content, count]) => {
  const all = findAll(pattern, content).map(({ groups }) => groups[0]!);
  return count < 0n ? all : all.slice(0, Number(count));
});
const regexSplit = fn("ssi", ([pattern, content, count]) => {
  if (count === 0n) return [];
  const parts: string[] = [];
  let from = 0;
  for (const { at, groups } of findAll(pattern, content)) {
    if (count > 0n && parts.length === Number(count) - 1) break;
    if (at + groups[0]!.length === 0) continue;
    if (groups[0] === "" && at >= content.length) break;
    parts.push(content.slice(from, at));
    from = at + groups[0]!.length;
  }
  return [...parts, content.slice(from)];
});
const mustRegexMatch = fn("ss", ([pattern, content]) => findAll(pattern, content).length > 0);
// A malformed expression matches nothing, as it does there.
const regexMatch = fn("ss", (args, budget) => {
  try {
    return mustRegexMatch.run(args, budget);
  } catch (error) {
    if (error instanceof PatternTooMuch) throw error;
    return false;
  }
});
const regexFind = fn("ss", ([pattern, content]) => findAll(pattern, content)[0]?.groups[0] ?? "");

export const STRINGS: Record<string, Callable> = {
  hello: fn("", () => "Hello!"),
  upper: fn("s", ([s]) => s.toUpperCase()),
  lower: fn("s", ([s]) => s.toLowerCase()),
  title: fn("s", ([s]) => title(s)),
  untitle: fn("s", ([s]) =>
    (s as string).replace(/(^|\s)(\p{L})/gu, (_, before: string, letter: string) => before + letter.toLowerCase()),
  ),
  trim: fn("s", ([s]) => s.trim()),
  trimAll: fn("ss", ([set, s]) => trimSet(s, set)),
  trimall: fn("ss", ([set, s]) => trimSet(s, set)),
  trimPrefix: fn("ss", ([prefix, s]) => (s.startsWith(prefix) ? s.slice(prefix.length) : s)),
  trimSuffix: fn("ss", ([suffix, s]) => (suffix && s.endsWith(suffix) ? s.slice(0, -suffix.length) : s)),
  hasPrefix: fn("ss", ([prefix, s]) => s.startsWith(prefix)),
  hasSuffix: fn("ss", ([suffix, s]) => s.endsWith(suffix)),
  contains: fn("ss", ([part, s]) => s.includes(part)),
  repeat: fn("is", ([count, s]) => {
    if (count < 0n) throw new TemplateError("strings: negative Repeat count");
    if (Number(count) * s.length > 1_048_576 || count > 1_048_576n)
      throw new TemplateError("a repeat of more than 1 MiB");
    return s.repeat(Number(count));
  }),
  replace: fn("sss", ([old, by, s], budget) => {
    const parts = (s as string).split(old);
    budget.grow(s.length + parts.length * by.length);
    return parts.join(by);
  }),
  substr: fn("iis", ([start, end, s]) => {
    const size = Buffer.byteLength(s);
    if (start < 0n) return bytes(s, 0, Number(end));
    if (end < 0n || Number(end) > size) return bytes(s, Number(start), size);
    return bytes(s, Number(start), Number(end));
  }),
  trunc: fn("is", ([count, s]) => trunc(Number(count), s)),
  abbrev: fn("is", ([width, s]) => (width < 4n ? s : abbreviate(0, Number(width), s))),
  abbrevboth: fn("iis", ([left, right, s]) => abbreviate(Number(left), Number(right), s)),
  initials: fn("s", ([s]) =>
    (s as string)
      .split(/\s+/)
      .map((word) => [...word][0] ?? "")
      .join(""),
  ),
  nospace: fn("s", ([s]) => s.replace(/\s+/g, "")),
  swapcase: fn("s", ([s]) =>
    (s as string).replace(/\p{L}/gu, (c) => (c === c.toLowerCase() ? c.toUpperCase() : c.toLowerCase())),
  ),
  snakecase: fn("s", ([s]) => snake(s, "_")),
  kebabcase: fn("s", ([s]) => snake(s, "-")),
  camelcase: fn("s", ([s]) => pascal(s)),
  plural: fn("ssi", ([one, many, count]) => (count === 1n ? one : many)),
  wrap: fn("is", ([width, s]) => wrapAt(width, "\n", s, false)),
  wrapWith: fn("iss", ([width, separator, s]) => wrapAt(width, separator, s, true)),
  indent: fn("is", ([width, s]) => indent(width, s)),
  nindent: fn("is", ([width, s]) => `\n${indent(width, s)}`),
  quote: fn("a*", (args) =>
    present(args)
      .map((arg) => quote(asText(arg)))
      .join(" "),
  ),
  squote: fn("a*", (args) =>
    present(args)
      .map((arg) => `'${text(arg)}'`)
      .join(" "),
  ),
  cat: fn("a*", (args) => present(args).map(text).join(" ")),
  toString: fn("a", ([value]) => asText(value)),
  toStrings: fn("a", ([value]) => asTexts(value)),
  join: fn("sa", ([separator, list]) => asTexts(list).join(separator)),
  split: fn("ss", ([separator, s]) => numbered(split(separator, s))),
  splitn: fn("sis", ([separator, count, s]) => {
    if (count === 0n) return new StringMap();
    const parts = split(separator, s);
    const most = Number(count);
    return numbered(
      count < 0n || parts.length <= most ? parts : [...parts.slice(0, most - 1), parts.slice(most - 1).join(separator)],
    );
  }),
  splitList: fn("ss", ([separator, s]) => split(separator, s)),
  sortAlpha: fn("a", ([list]) => asTexts(list).sort(byBytes)),
  regexMatch,
  mustRegexMatch,
  regexFind,
  mustRegexFind: regexFind,
  regexFindAll,
  mustRegexFindAll: regexFindAll,
  regexSplit,
  mustRegexSplit: regexSplit,
  regexReplaceAll: regexReplace(false),
  mustRegexReplaceAll: regexReplace(false),
  regexReplaceAllLiteral: regexReplace(true),
  mustRegexReplaceAllLiteral: regexReplace(true),
  regexQuoteMeta: fn("s", ([s]) => s.replace(/[\\.+*?()|[\]{}^$]/g, "\\$&")),
  fail: fn("s", ([s]) => {
    throw new TemplateError(s);
  }),
};
