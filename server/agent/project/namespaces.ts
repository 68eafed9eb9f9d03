import { patternMatcher } from "../../../openapi/pattern-match.ts";
import { matchGlob } from "../../base/lang/glob.ts";
import { asArgoReads } from "./argo-glob.ts";

// Patterns times namespaces: as many are asked of again and again.
const MAX_KNOWN = 10_000;
const known = new Map<string, boolean>();

/** Whether a namespace is among those of a list: globs, and between two slashes regular expressions, which fit anywhere in the name. */
export const listsNamespace = (patterns: readonly string[], namespace: string): boolean =>
  patterns.some(
    (one) => one === namespace || (isExpression(one) && fits(one.slice(1, -1), namespace)) || fitsGlob(one, namespace),
  );

function fitsGlob(pattern: string, namespace: string): boolean {
  const read = asArgoReads(pattern);
  return read !== undefined && matchGlob(read, namespace);
}

/** Names as they are, without a pattern among them. */
export const areNames = (patterns: readonly string[]): boolean =>
  patterns.every((one) => /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(one));

const isExpression = (pattern: string): boolean =>
  pattern.length > 2 && pattern.startsWith("/") && pattern.endsWith("/");

/** One that takes too long or is malformed matches nothing. */
function fits(expression: string, namespace: string): boolean {
  const key = `${expression} ${namespace}`;
  let fit = known.get(key);
  if (fit === undefined) {
    fit = patternMatcher()(`[^]*?(?:${expression})[^]*`, namespace) === true;
    if (known.size >= MAX_KNOWN) known.clear();
    known.set(key, fit);
  }
  return fit;
}
