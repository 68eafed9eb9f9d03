import { readJson } from "../../base/json/nesting.ts";
import { again, done, type Failure, type Outcome, stop } from "../../base/outcome.ts";

/** A place that secrets are read from. */
export interface SecretSource {
  /** The value under a path and, where there are several, a key. What a message says may be shown to everybody: never the value. */
  read(path: string, key: string | undefined, signal: AbortSignal): Promise<Outcome<string>>;
}

/** Why a secret is not there; constants for machines. */
export const SECRET = {
  notFound: "SecretNotFound",
  sourceUnknown: "SecretSourceUnknown",
  refused: "SecretRefused",
  scopeRefused: "SecretScopeRefused",
  tooShort: "SecretTooShort",
  unavailable: "SecretSourceUnavailable",
} as const;

export const notFound = (message: string): Failure => stop(SECRET.notFound, message);
export const refused = (message: string): Failure => stop(SECRET.refused, message);
/** May pass: it is asked again for a while. */
export const unavailable = (message: string): Failure => again(SECRET.unavailable, message);

/** One member of a JSON object, or the whole text when no key is asked for. */
export function memberOf(text: string, key: string | undefined): Outcome<string> {
  if (key === undefined) return done(text);
  let value: unknown;
  try {
    value = readJson(text);
  } catch {
    return refused(`it has no #${key}: it is not a JSON object`);
  }
  if (value === null || typeof value !== "object" || !Object.hasOwn(value, key)) return notFound(`it has no #${key}`);
  return textOf((value as Record<string, unknown>)[key]);
}

/** Texts as they are, numbers and objects as JSON. */
export function textOf(value: unknown): Outcome<string> {
  if (typeof value === "string") return done(value);
  return value === null || value === undefined ? notFound("it is empty") : done(JSON.stringify(value));
}

/** Bytes as text; other encodings than UTF-8 could neither be passed on nor masked. */
export function utf8(bytes: Uint8Array): Outcome<string> {
  try {
    return done(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    return refused("it is not UTF-8 text; keep it as base64");
  }
}
