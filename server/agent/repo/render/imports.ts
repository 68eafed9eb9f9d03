const CLOSE = "*/";

/**
 * Every file that a Jsonnet text may import. Jsonnet takes only a literal there, so each import is the word, blanks and comments, and a
 * string. All places that look like one count, in comments and texts too: a false match only brings a file along.
 */
export function importsOf(text: string): string[] {
  const found = new Set<string>();
  let close = -2;
  const closeAfter = (at: number): number => {
    // Looked up once for all that lies before it: a text of nothing but openings costs one pass.
    if (close !== -1 && close < at) close = text.indexOf(CLOSE, at);
    return close;
  };
  for (const { index } of text.matchAll(/import/g)) {
    let at = index + "import".length;
    if (text.startsWith("str", at) || text.startsWith("bin", at)) at += 3;
    for (;;) {
      const char = text[at];
      if (char !== undefined && /\s/.test(char)) at++;
      else if (char === "#" || text.startsWith("//", at)) {
        const end = text.indexOf("\n", at);
        if (end < 0) break;
        at = end + 1;
      } else if (text.startsWith("/*", at)) {
        const end = closeAfter(at + 2);
        if (end < 0) break;
        at = end + CLOSE.length;
      } else break;
    }
    const literal = literalAt(text, at);
    if (literal !== undefined) found.add(literal);
  }
  return [...found];
}

// A path is not longer.
const MAX_LITERAL = 4_096;

function literalAt(text: string, at: number): string | undefined {
  const verbatim = text[at] === "@";
  const from = verbatim ? at + 1 : at;
  const quote = text[from];
  if (quote !== '"' && quote !== "'") return undefined;
  let value = "";
  for (let i = from + 1; i < text.length && value.length <= MAX_LITERAL; i++) {
    const char = text[i]!;
    if (verbatim) {
      if (char !== quote) value += char;
      else if (text[i + 1] === quote) value += text[i++];
      else return value;
      continue;
    }
    if (char === quote) return value;
    if (char !== "\\") {
      value += char;
      continue;
    }
    const next = text[++i] ?? "";
    const hex = next === "u" ? /^[0-9a-f]{4}/i.exec(text.slice(i + 1, i + 5))?.[0] : undefined;
    if (hex) {
      value += String.fromCharCode(Number.parseInt(hex, 16));
      i += 4;
    } else value += ESCAPES[next] ?? next;
  }
  return undefined;
}

const ESCAPES: Record<string, string> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };
