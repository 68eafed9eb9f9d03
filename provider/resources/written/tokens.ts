/** What a Terraform file is made of, as far as objects and their names go. Texts with templates in them have no value. */
export interface Token {
  /** A name, a quoted text, one sign, the end of a line, or anything else. */
  readonly kind: "name" | "text" | "sign" | "line" | "other";
  readonly value: string;
  /** Counted from one. */
  readonly line: number;
}

const SPACE = /[ \t\r]+|#[^\n]*|\/\/[^\n]*|\/\*[\s\S]*?\*\//y;
const NAME = /[A-Za-z_][\w-]*/y;
const HEREDOC = /<<-?([A-Za-z_][\w-]*)\r?\n/y;
const NUMBER = /\d[\w.]*/y;
const SIGNS = "{}[]()=:,";

/** The tokens of a file; undefined when it is not one that Terraform reads. */
export function tokensOf(source: string): Token[] | undefined {
  const out: Token[] = [];
  let at = 0;
  let line = 1;
  const next = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    return pattern.exec(source);
  };
  const take = (kind: Token["kind"], value: string, end: number): void => {
    out.push({ kind, value, line });
    for (let i = at; i < end; i++) if (source[i] === "\n") line++;
    at = end;
  };
  while (at < source.length) {
    const space = next(SPACE);
    const [name, heredoc, number] = space ? [] : [next(NAME), next(HEREDOC), next(NUMBER)];
    if (space) {
      for (const sign of space[0]) if (sign === "\n") line++;
      at += space[0].length;
    } else if (name) take("name", name[0], at + name[0].length);
    else if (heredoc) {
      const end = new RegExp(`^[ \\t]*${heredoc[1]}(?=\\r?$)`, "m").exec(source.slice(at + heredoc[0].length));
      if (!end) return undefined;
      take("other", "", at + heredoc[0].length + end.index + end[0].length);
    } else if (number) take("other", "", at + number[0].length);
    else if (source[at] === '"') {
      const end = textEnd(source, at + 1);
      if (end === undefined) return undefined;
      const value = source.slice(at + 1, end);
      take(/[\\$%]/.test(value) ? "other" : "text", value, end + 1);
    } else {
      const sign = source[at]!;
      let kind: Token["kind"] = SIGNS.includes(sign) ? "sign" : "other";
      if (sign === "\n") kind = "line";
      // `==`, `=>`, `!=`, `<=` and `>=` are no assignments.
      const wide = /[=!<>]=|=>/.test(source.slice(at, at + 2));
      take(wide ? "other" : kind, sign, at + (wide ? 2 : 1));
    }
  }
  return out;
}

/** Where a quoted text ends: templates in it may hold quotes of their own. */
function textEnd(source: string, start: number): number | undefined {
  for (let at = start; at < source.length; at++) {
    const sign = source[at];
    if (sign === "\\") at++;
    else if (sign === '"') return at;
    else if ((sign === "$" || sign === "%") && source[at + 1] === "{" && source[at - 1] !== sign) {
      const end = templateEnd(source, at + 2);
      if (end === undefined) return undefined;
      at = end;
    }
  }
  return undefined;
}

function templateEnd(source: string, start: number): number | undefined {
  for (let [at, depth] = [start, 1]; at < source.length; at++) {
    const sign = source[at];
    if (sign === "{") depth++;
    else if (sign === "}" && --depth === 0) return at;
    else if (sign === '"') {
      const end = textEnd(source, at + 1);
      if (end === undefined) return undefined;
      at = end;
    }
  }
  return undefined;
}
