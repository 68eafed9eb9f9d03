/**
 * Globs as Argo CD has them for directory sources: `*` crosses slashes, `?`, `[a-z]`, `[!a]`, and `{a,b}` sets. Matching goes back only to the
 * last star, so no pattern can make it slow.
 */
export function matchGlob(pattern: string, text: string): boolean {
  return alternatives(pattern).some((one) => match(one, text));
}

const MAX_ALTERNATIVES = 256;

function alternatives(pattern: string): string[] {
  const open = pattern.indexOf("{");
  if (open < 0) return [pattern];
  let depth = 0;
  let from = open + 1;
  const parts: string[] = [];
  for (let i = open; i < pattern.length; i++) {
    if (pattern[i] === "{") depth++;
    else if (pattern[i] === "}" && --depth === 0) {
      parts.push(pattern.slice(from, i));
      const rest = alternatives(pattern.slice(i + 1));
      const result = parts.flatMap((part) => alternatives(part).flatMap((p) => rest.map((r) => pattern.slice(0, open) + p + r)));
      return result.slice(0, MAX_ALTERNATIVES);
    } else if (pattern[i] === "," && depth === 1) {
      parts.push(pattern.slice(from, i));
      from = i + 1;
    }
  }
  return [pattern];
}

function match(pattern: string, text: string): boolean {
  let p = 0;
  let t = 0;
  let star = -1;
  let retry = 0;
  while (t < text.length) {
    if (pattern[p] === "*") {
      star = p++;
      retry = t;
      continue;
    }
    const step = one(pattern, p, text[t]!);
    if (step > 0) {
      p += step;
      t++;
    } else if (star >= 0) {
      p = star + 1;
      t = ++retry;
    } else return false;
  }
  while (pattern[p] === "*") p++;
  return p === pattern.length;
}

/** How many characters of the pattern match this one character; 0 for none. */
function one(pattern: string, at: number, char: string): number {
  const c = pattern[at];
  if (c === undefined) return 0;
  if (c === "?") return 1;
  if (c === "\\") return pattern[at + 1] === char ? 2 : 0;
  if (c !== "[") return c === char ? 1 : 0;
  const end = pattern.indexOf("]", at + 2);
  if (end < 0) return c === char ? 1 : 0;
  const negated = pattern[at + 1] === "!" || pattern[at + 1] === "^";
  const set = pattern.slice(at + (negated ? 2 : 1), end);
  let inside = false;
  for (let i = 0; i < set.length; i++) {
    if (set[i + 1] === "-" && i + 2 < set.length) {
      if (set[i]! <= char && char <= set[i + 2]!) inside = true;
      i += 2;
    } else if (set[i] === char) inside = true;
  }
  return inside !== negated ? end - at + 1 : 0;
}
