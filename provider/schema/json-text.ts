import type { Json } from "../value/json.ts";
import { asDouble, print } from "../value/number.ts";
import { Decimal } from "../value/value.ts";

/** How deep a request may be; the service refuses deeper ones. */
const MAX_DEPTH = 64;
/** Faults named at once. */
const MAX_FAULTS = 5;

/**
 * What the service could not keep of a JSON value, each with its place: numbers that no double prints, texts and names that cannot be
 * stored, too many levels. `depth`: levels of the request around the value.
 */
export function jsonTextFaults(json: Json, depth: number): string[] {
  const out: string[] = [];
  visit(json, "", depth, out);
  return out;
}

function visit(json: Json, at: string, depth: number, out: string[]): void {
  if (out.length >= MAX_FAULTS || json === null || typeof json === "boolean") return;
  const fault = (text: string) => out.push(`${at === "" ? "" : `\`${shorten(at, 120)}\`: `}${text}`);
  if (typeof json === "string") {
    if (unfit(json)) fault("the text holds a NUL or half a character, which cannot be stored.");
  } else if (typeof json !== "object" || json instanceof Decimal) {
    if (asDouble(json) === undefined) fault(inexact(json));
  } else if (depth >= MAX_DEPTH) fault(`the JSON is nested too deeply. A request has at most ${MAX_DEPTH} levels.`);
  else if (Array.isArray(json)) for (const [i, item] of json.entries()) visit(item, `${at}[${i}]`, depth + 1, out);
  else
    for (const [name, value] of Object.entries(json)) {
      if (name === "__proto__" || unfit(name))
        fault(`a member is named ${JSON.stringify(shorten(name, 40))}, which cannot be stored.`);
      visit(value, step(at, name), depth + 1, out);
    }
}

/** The error for a number that a double cannot hold, with what to do. */
export function inexact(value: number | bigint | Decimal): string {
  const [given, double] = [print(value), Number(print(value))];
  const becomes = Number.isFinite(double) ? `would become ${shorten(print(double), 40)}` : "is too large";
  return `the number ${shorten(given, 40)} ${becomes}: JSON keeps numbers as 64-bit floating point. Write it as a string, or round it, as \`tonumber(format("%.15g", 1 / 3))\`.`;
}

const step = (at: string, name: string): string =>
  /^[A-Za-z_][\w-]*$/.test(name)
    ? `${at}${at === "" ? "" : "."}${name}`
    : `${at}[${JSON.stringify(shorten(name, 40))}]`;
const unfit = (text: string): boolean => text.includes("\0") || /\p{Surrogate}/u.test(text);
const shorten = (text: string, most: number): string => (text.length > most ? `${text.slice(0, most)}…` : text);
