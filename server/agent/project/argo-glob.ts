/**
 * A pattern as Argo CD reads it, in our own words for it; undefined for one that Argo CD cannot read, which permits nothing there. Its classes are one
 * range (`[a-z]`) or some characters (`[abc]`), negated by `!` alone: `[a-z0-9]` is an error, and `[^a]` is `^` or `a`.
 */
export function asArgoReads(pattern: string): string | undefined {
  let read = "";
  for (let i = 0; i < pattern.length; i++) {
    const char = pattern[i]!;
    if (char === "\\") {
      // At the end it escapes nothing.
      if (i + 1 < pattern.length) read += pattern.slice(i, i + 2);
      i++;
    } else if (char === "[") {
      const found = classAt(pattern, i + 1);
      if (!found) return undefined;
      read += found.text;
      i = found.end;
    } else read += char;
  }
  return read;
}

interface Class {
  text: string;
  /** Where its bracket closes. */
  end: number;
}

function classAt(pattern: string, begin: number): Class | undefined {
  const not = pattern[begin] === "!" ? "!" : "";
  const from = begin + not.length;
  const [low, dash, high] = pattern.slice(from, from + 3);
  if (dash === "-") {
    const isRange = high !== undefined && high !== "]" && low! <= high && pattern[from + 3] === "]";
    return isRange ? { text: `[${not}${low}-${high}]`, end: from + 3 } : undefined;
  }
  let chars = "";
  for (let i = from; i < pattern.length; i++) {
    if (pattern[i] === "]") {
      const text = chars && listed(chars, not);
      return text ? { text, end: i } : undefined;
    }
    if (pattern[i] === "\\") i++;
    chars += pattern[i] ?? "";
  }
  return undefined;
}

/** In a class of ours a dash, a caret and an exclamation mark mean something where they stand first or between. */
function listed(chars: string, not: string): string | undefined {
  if (chars.includes("]")) return undefined;
  const [plain, special] = [chars.replace(/[-!^]/g, ""), chars.replace(/[^-!^]/g, "")];
  if (plain !== "" || not !== "")
    return `[${not}${plain}${special.replace(/-/g, "")}${special.includes("-") ? "-" : ""}]`;
  return special.length === 1 ? `\\${special}` : undefined;
}
