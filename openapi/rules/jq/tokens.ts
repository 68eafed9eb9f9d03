const MAX_TEXTS = 10;
const TOKEN =
  /\s*(?:(\.\.|\?\/\/(?!=)|\/\/=|\/\/|==|!=|<=|>=|[-|+*/%]=|[=.[\](){}|,:;?<>+\-*/%"])|(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|((?:\$|@)?[A-Za-z_][A-Za-z0-9_]*))/y;

export interface Token {
  kind: "sign" | "text" | "number" | "name" | "end";
  text: string;
  /** Whether nothing stands between it and the token before. */
  joined: boolean;
  /** Of a text with values in it: the texts around them, and the tokens of each. */
  parts?: (string | Token[])[];
}

const END: Token = { kind: "end", text: "the end", joined: false };

/** The words, signs and texts of an expression. */
export function tokens(text: string): Token[] {
  const { found, at } = scan(text.trimEnd(), 0, 0);
  if (at < text.trimEnd().length) throw new Error("unexpected )");
  return [...found, END];
}

/** Tokens up to the end, or up to the bracket that ends a value within a text. */
function scan(text: string, start: number, depth: number): { found: Token[]; at: number } {
  if (depth > MAX_TEXTS) throw new Error("texts are nested too deep");
  const found: Token[] = [];
  let [at, open] = [start, 0];
  while (at < text.length) {
    TOKEN.lastIndex = at;
    const match = TOKEN.exec(text);
    if (!match) throw new Error(`unexpected character at ${at}: ${text.slice(at, at + 10)}`);
    const [whole, sign, number, name] = match;
    const raw = (sign ?? number ?? name)!;
    const joined = whole.length === raw.length;
    at += whole.length;
    if (sign === '"') {
      const quoted = scanText(text, at, depth);
      found.push({ ...quoted.token, joined });
      at = quoted.at;
      continue;
    }
    if (sign === "(") open++;
    if (sign === ")" && --open < 0 && depth > 0) return { found, at };
    const other = number ? "number" : "name";
    found.push({ kind: sign ? "sign" : other, text: raw, joined });
  }
  if (depth > 0) throw new Error("a value in a text is not ended");
  return { found, at };
}

/** What follows a quote, up to the quote that ends it. */
function scanText(text: string, start: number, depth: number): { token: Token; at: number } {
  const parts: (string | Token[])[] = [];
  let [at, from] = [start, start];
  const plain = () =>
    JSON.parse(`"${text.slice(from, at).replace(/\p{Cc}/gu, (c) => JSON.stringify(c).slice(1, -1))}"`) as string;
  for (; at < text.length; at++) {
    if (text[at] === '"') {
      if (parts.length === 0) return { token: { kind: "text", text: plain(), joined: false }, at: at + 1 };
      return { token: { kind: "text", text: "a text", joined: false, parts: [...parts, plain()] }, at: at + 1 };
    }
    if (text[at] !== "\\") continue;
    if (text[at + 1] === "(") {
      parts.push(plain());
      const inner = scan(text, at + 2, depth + 1);
      parts.push([...inner.found, END]);
      from = inner.at;
      at = inner.at - 1;
    } else at++;
  }
  throw new Error("a text is not ended");
}
