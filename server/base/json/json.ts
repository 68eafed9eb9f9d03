import { findInexact } from "./json-numbers.ts";

/** Limits of one JSON text; they hold before anything is built from it. */
export interface JsonLimits {
  /** Objects and arrays within each other. */
  depth: number;
  /** Members of objects plus elements of arrays, in the whole text. */
  members: number;
  /** Also refuse numbers that would become other numbers, such as 9007199254740993. */
  exact?: boolean;
}

export type JsonResult =
  | { ok: true; value: unknown }
  | { ok: false; reason: "syntax" | "bounds" | "text"; detail: string; pointer?: string };

/**
 * Reads JSON from an untrusted sender. Besides syntax it refuses what later rooms could not store or would misread:
 * bytes that are not UTF-8, NUL and lone surrogates in strings (PostgreSQL's jsonb takes neither), numbers beyond a double,
 * and members named `__proto__`.
 */
export function parseJson(bytes: Uint8Array, limits: JsonLimits): JsonResult {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return { ok: false, reason: "syntax", detail: "it is not UTF-8" };
  }
  const over = measure(text, limits);
  if (over) return { ok: false, reason: "bounds", detail: over };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    // V8 quotes a piece of the text; the position alone cannot carry a secret into a log.
    const at = /position \d+/.exec((error as Error).message)?.[0];
    return { ok: false, reason: "syntax", detail: at ? `syntax error at ${at}` : "it ends early" };
  }
  const inexact = limits.exact ? findInexact(text) : undefined;
  if (inexact !== undefined) return { ok: false, reason: "text", detail: INEXACT, pointer: inexact };
  const bad = findUnfit(value, "");
  return bad ? { ok: false, reason: "text", ...bad } : { ok: true, value };
}

const INEXACT =
  "the number has more digits than 64-bit floating point keeps, or is too large or too small. Write it as a string";

/** One pass over the text, without building anything: depth and number of members. */
function measure(text: string, limits: JsonLimits): string | undefined {
  let depth = 0;
  let members = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === 0x22) {
      for (i++; i < text.length && text.charCodeAt(i) !== 0x22; i++) if (text.charCodeAt(i) === 0x5c) i++;
    } else if (c === 0x7b || c === 0x5b) {
      if (++depth > limits.depth) return `objects and arrays are more than ${limits.depth} deep`;
      members++;
    } else if (c === 0x7d || c === 0x5d) depth--;
    else if (c === 0x2c && ++members > limits.members) return `it has more than ${limits.members} members`;
  }
  return members > limits.members ? `it has more than ${limits.members} members` : undefined;
}

function findUnfit(value: unknown, pointer: string): { detail: string; pointer: string } | undefined {
  if (typeof value === "string")
    return unfitText(value) ? { detail: "the text holds a NUL or half a character", pointer } : undefined;
  if (typeof value === "number")
    return Number.isFinite(value) ? undefined : { detail: "the number is too large", pointer };
  if (value === null || typeof value !== "object") return undefined;
  for (const [key, member] of Object.entries(value)) {
    if (key === "__proto__" || unfitText(key)) return { detail: "a member has a name that is not allowed", pointer };
    const bad = findUnfit(member, `${pointer}/${escapePointer(key)}`);
    if (bad) return bad;
  }
  return undefined;
}

/** Whether a text holds NUL or a surrogate without its partner. */
export function unfitText(text: string): boolean {
  return text.includes("\0") || !(text as string & { isWellFormed(): boolean }).isWellFormed();
}

/** One segment of a JSON pointer (RFC 6901). */
export function escapePointer(segment: string): string {
  return segment.replaceAll("~", "~0").replaceAll("/", "~1");
}
