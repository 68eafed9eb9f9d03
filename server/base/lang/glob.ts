/** How many steps some matches may take together. Below zero it is used up: matches that are not finished by then count as no match. */
export interface GlobBudget {
  left: number;
}

/**
 * Globs as the ecosystem's engine has them: `*` and `**`, `?`, `[a-z]`, `[!a]`, `\x`, and `{a,b}` sets. With separators, `*` and `?` stop at
 * them and `**` does not; without, both cross everything. All states of a pattern go through a text together, so none can make it slow.
 */
export function matchGlob(
  pattern: string,
  text: string,
  separators = "",
  budget: GlobBudget = { left: MAX_STEPS },
): boolean {
  if (pattern.length > MAX_PATTERN || budget.left < 0) return false;
  const texts = [...text];
  return alternatives(pattern, 0, budget).some(
    (one) => budget.left >= 0 && matches(tokens(one), texts, separators, budget),
  );
}

const MAX_ALTERNATIVES = 256;
const MAX_DEPTH = 32;
// Longer than any real one. What is left of a match after so many steps, a tenth of a second, fits nothing.
const MAX_PATTERN = 16_384;
const MAX_STEPS = 4_000_000;

/** Patterns without sets that mean the same together. */
function alternatives(pattern: string, level: number, budget: GlobBudget): string[] {
  const open = pattern.search(/(?<!\\)\{/);
  if (open < 0 || level > MAX_DEPTH || budget.left < 0) return [pattern];
  let depth = 0;
  let from = open + 1;
  const parts: string[] = [];
  for (let i = open; i < pattern.length; i++) {
    if (pattern[i] === "\\") i++;
    else if (pattern[i] === "{") depth++;
    else if (pattern[i] === "}" && --depth === 0) {
      parts.push(pattern.slice(from, i));
      const rest = alternatives(pattern.slice(i + 1), level + 1, budget);
      const result: string[] = [];
      for (const part of parts) {
        for (const p of alternatives(part, level + 1, budget)) {
          for (const r of rest) {
            result.push(pattern.slice(0, open) + p + r);
            budget.left -= open + p.length + r.length;
          }
          if (result.length >= MAX_ALTERNATIVES) return result.slice(0, MAX_ALTERNATIVES);
        }
      }
      return result;
    } else if (pattern[i] === "," && depth === 1) {
      parts.push(pattern.slice(from, i));
      from = i + 1;
    }
  }
  return [pattern];
}

/** `star` repeats; every other token takes one character. */
type Token = { star: "one" | "all" } | { char: string } | { any: true } | { set: string; negated: boolean };

function tokens(pattern: string): Token[] {
  const out: Token[] = [];
  for (let i = 0; i < pattern.length; i++) {
    const c = pattern[i]!;
    const end = c === "[" ? pattern.indexOf("]", i + 2) : -1;
    if (c === "*") {
      let stars = 1;
      while (pattern[i + 1] === "*") {
        i++;
        stars++;
      }
      out.push({ star: stars > 1 ? "all" : "one" });
    } else if (c === "?") out.push({ any: true });
    else if (c === "\\" && i + 1 < pattern.length) out.push({ char: pattern[++i]! });
    else if (end > 0) {
      const negated = pattern[i + 1] === "!" || pattern[i + 1] === "^";
      out.push({ set: pattern.slice(i + (negated ? 2 : 1), end), negated });
      i = end;
    } else out.push({ char: c });
  }
  return out;
}

function matches(pattern: Token[], text: string[], separators: string, budget: GlobBudget): boolean {
  const { length } = pattern;
  // 0: takes one character, 1: a star that stops at separators, 2: one that does not.
  const stars = Uint8Array.from(pattern, (token) => {
    if (!("star" in token)) return 0;
    return token.star === "one" ? 1 : 2;
  });
  const chars = pattern.map((token) => ("char" in token ? token.char : undefined));
  let states = new Uint8Array(length + 1);
  let next = new Uint8Array(length + 1);
  budget.left -= length;
  let [from, to] = [0, reach(stars, states, 0)];
  for (const char of text) {
    const separates = separators.includes(char);
    let [low, high] = [length + 1, -1];
    for (let at = from; at <= to && at < length; at++) {
      if (states[at] === 0) continue;
      const star = stars[at]!;
      let goes = at;
      if (star === 0) {
        const wanted = chars[at];
        if (
          wanted === undefined
            ? !takes(pattern[at] as Exclude<Token, { star: unknown }>, char, separators)
            : wanted !== char
        )
          continue;
        goes = at + 1;
      } else if (star === 1 && separates) continue;
      if (goes < low) low = goes;
      const end = reach(stars, next, goes);
      if (end > high) high = end;
    }
    budget.left -= to - from + 1;
    if (high < 0 || budget.left < 0) return false;
    states.fill(0, from, to + 1);
    [states, next] = [next, states];
    [from, to] = [low, high];
  }
  return states[length] === 1;
}

/** Sets a state and those behind stars, which may take nothing; answers the last of them. */
function reach(stars: Uint8Array, states: Uint8Array, from: number): number {
  let at = from;
  states[at] = 1;
  // At the end of the pattern there is no star.
  while (stars[at]! > 0) states[++at] = 1;
  return at;
}

function takes(token: Exclude<Token, { star: unknown }>, char: string, separators: string): boolean {
  if ("char" in token) return token.char === char;
  if ("any" in token) return !separators.includes(char);
  let inside = false;
  for (let i = 0; i < token.set.length; i++) {
    if (token.set[i + 1] === "-" && i + 2 < token.set.length) {
      if (token.set[i]! <= char && char <= token.set[i + 2]!) inside = true;
      i += 2;
    } else if (token.set[i] === char) inside = true;
  }
  return inside !== token.negated;
}
