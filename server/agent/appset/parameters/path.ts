import { matchGlob } from "../../../base/lang/glob.ts";

/** Go's path.Match: stars stop at slashes, two of them are as one, braces mean themselves. A malformed pattern matches nothing. */
export function matchPath(pattern: string, path: string): boolean {
  const literal = pattern.replace(/\\.|[{},]/g, (c) => (c.length > 1 ? c : `\\${c}`));
  return matchGlob(literal.replace(/\*{2,}/g, "*"), path, "/");
}
