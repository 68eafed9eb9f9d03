import { BEGIN, looksLikeReference, NOT_A_REFERENCE, readReference } from "../../openapi/rules/tasks/references.ts";
import { escapePointer } from "./json/json.ts";
import { done, type Outcome, stop } from "./outcome.ts";

/** `${secret:SOURCE/PATH#KEY}`: a reference in parameters, in place of a secret. */
export interface SecretReference {
  source: string;
  path: string;
  key: string | undefined;
  /** As it was written; may be shown. */
  text: string;
}

/** A text with references, in order: literal parts and references. */
export type Parts = (string | SecretReference)[];

/** A text's parts. `$${secret:` means the characters `${secret:`. Fails with reason SecretRefused. */
export function parseReferences(text: string): Outcome<Parts> {
  if (!text.includes(BEGIN)) return done([text]);
  const parts: Parts = [];
  let plain = "";
  let at = 0;
  for (;;) {
    const next = text.indexOf(BEGIN, at);
    if (next < 0) break;
    if (next > at && text[next - 1] === "$") {
      plain += text.slice(at, next - 1) + BEGIN;
      at = next + BEGIN.length;
      continue;
    }
    plain += text.slice(at, next);
    const end = text.indexOf("}", next);
    const whole = end < 0 ? "" : text.slice(next, end + 1);
    const found = readReference(whole);
    if (!found) return stop("SecretRefused", NOT_A_REFERENCE);
    if (plain) parts.push(plain);
    plain = "";
    parts.push({ ...found, text: whole });
    at = end + 1;
  }
  plain += text.slice(at);
  if (plain || parts.length === 0) parts.push(plain);
  return done(parts);
}

/** One text in a value, by its JSON pointer. */
export interface TextAt {
  pointer: string;
  text: string;
}

/** Every text in a value that holds a reference; names of members are not looked at. */
export function findReferences(value: unknown, pointer = ""): TextAt[] {
  if (typeof value === "string") return value.includes(BEGIN) ? [{ pointer, text: value }] : [];
  if (value === null || typeof value !== "object") return [];
  return Object.entries(value).flatMap(([name, member]) => findReferences(member, `${pointer}/${escapePointer(name)}`));
}

/**
 * For callers that only pass parameters on: the errors of a schema's validation without those about texts whose value is not known here. The
 * worker validates again what it has put together.
 */
export function errorsBesidesReferences<E extends { instancePath: string }>(value: unknown, errors: readonly E[]): E[] {
  const unknown = new Set(
    findReferences(value)
      .filter(({ text }) => looksLikeReference(text))
      .map(({ pointer }) => pointer),
  );
  return errors.filter(({ instancePath }) => !unknown.has(instancePath));
}

/** The value, with each reference in its texts replaced. */
export function replaceReferences(value: unknown, put: (reference: SecretReference) => string): unknown {
  if (typeof value === "string") {
    const parts = parseReferences(value);
    if (parts.kind !== "done") return value;
    return parts.value.map((part) => (typeof part === "string" ? part : put(part))).join("");
  }
  if (Array.isArray(value)) return value.map((item) => replaceReferences(item, put));
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, replaceReferences(member, put)]));
}
