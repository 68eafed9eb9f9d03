import { fromText, print } from "./number.ts";
import { bool, list, map, number, object, parseType, printType, string, type Type, tuple } from "./type.ts";
import { Decimal, Dynamic, text, Unknown, type Value } from "./value.ts";

/** Plain JSON data. A `Decimal` is a number that a double cannot hold. */
export type Json = null | boolean | number | bigint | Decimal | string | Json[] | { [key: string]: Json };

/** Parses JSON without losing digits: only a text that may hold a long number takes the slow way. */
export function parseJson(source: string): Json {
  return /[\d.]{16}|\d[eE]/.test(source) ? new Parser(source).document() : JSON.parse(source);
}

/** Reads a value of a type from JSON data. Missing attributes become null, unknown ones are dropped. */
export function fromJson(type: Type, json: Json | undefined): Value {
  if (json === null || json === undefined) return null;
  switch (type.kind) {
    case "string":
      if (typeof json === "string") return text(json);
      if (typeof json === "number" || typeof json === "bigint" || json instanceof Decimal) return print(json);
      if (typeof json === "boolean") return String(json);
      break;
    case "bool":
      if (typeof json === "boolean") return json;
      if (json === "true" || json === "false") return json === "true";
      break;
    case "number":
      if (typeof json === "number") return fromText(String(json));
      if (typeof json === "bigint" || json instanceof Decimal) return json;
      if (typeof json === "string") return fromText(json);
      break;
    case "dynamic":
      if (typeof json === "object" && !Array.isArray(json) && !(json instanceof Decimal)) {
        const of = parseType(json.type);
        const value = fromJson(of, json.value);
        return value === null ? null : new Dynamic(of, value);
      }
      break;
    case "list":
    case "set":
      if (Array.isArray(json)) return json.map((item) => fromJson(type.of, item));
      break;
    case "tuple":
      if (Array.isArray(json) && json.length === type.of.length)
        return json.map((item, i) => fromJson(type.of[i]!, item));
      break;
    case "map":
      if (isObject(json)) return new Map(Object.entries(json).map(([k, v]) => [text(k), fromJson(type.of, v)]));
      break;
    case "object":
      if (isObject(json))
        return new Map(
          [...type.fields].map(([k, t]) => [k, fieldFromJson(k, t, Object.hasOwn(json, k) ? json[k] : null)]),
        );
  }
  throw new Error(`a ${type.kind} is wanted, got ${Array.isArray(json) ? "a list" : typeof json}`);
}

/** One field of an object; an error names it. */
function fieldFromJson(name: string, type: Type, json: Json | undefined): Value {
  try {
    return fromJson(type, json);
  } catch (error) {
    throw new Error(`\`${name}\`: ${error instanceof Error ? error.message : String(error)}`);
  }
}

const isObject = (json: Json): json is { [key: string]: Json } =>
  typeof json === "object" && json !== null && !Array.isArray(json) && !(json instanceof Decimal);

/** JSON data of a known value. An unknown is a bug of the caller. */
export function toJson(type: Type, value: Value): Json {
  if (value === null) return null;
  if (value instanceof Unknown) throw new Error("an unknown value has no JSON form");
  switch (type.kind) {
    case "dynamic":
      return value instanceof Dynamic
        ? { type: printType(value.type) as Json, value: toJson(value.type, value.value) }
        : null;
    case "list":
    case "set":
      return (value as Value[]).map((v) => toJson(type.of, v));
    case "tuple":
      return (value as Value[]).map((v, i) => toJson(type.of[i]!, v));
    case "map":
      return Object.fromEntries([...(value as Map<string, Value>)].map(([k, v]) => [k, toJson(type.of, v)]));
    case "object":
      return Object.fromEntries(
        [...type.fields].map(([k, t]) => [k, toJson(t, (value as Map<string, Value>).get(k) ?? null)]),
      );
    default:
      return value as Json;
  }
}

/** The type that plain JSON data has by itself: objects and tuples, as `jsondecode` gives. */
export function impliedType(json: Json): Type {
  if (json === null) return { kind: "dynamic" };
  if (typeof json === "string") return string;
  if (typeof json === "boolean") return bool;
  if (typeof json !== "object" || json instanceof Decimal) return number;
  if (Array.isArray(json)) return tuple(json.map(impliedType));
  return object(new Map(Object.entries(json).map(([k, v]) => [k, impliedType(v)])));
}

export const listOfStrings = list(string);
export const mapOfStrings = map(string);

/** A small strict JSON reader that keeps every digit; used only for texts with long numbers. */
class Parser {
  readonly #source: string;
  #at = 0;
  constructor(source: string) {
    this.#source = source;
  }
  document(): Json {
    const value = this.#value(0);
    this.#space();
    if (this.#at < this.#source.length) throw new SyntaxError("unexpected text after the JSON value");
    return value;
  }
  #space(): void {
    while (/[ \t\r\n]/.test(this.#source[this.#at] ?? "")) this.#at++;
  }
  #next(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#source)?.[0];
    if (found !== undefined) this.#at += found.length;
    return found;
  }
  #skip(character: string): boolean {
    this.#space();
    if (this.#source[this.#at] !== character) return false;
    this.#at++;
    return true;
  }
  #need(character: string): void {
    if (!this.#skip(character)) throw new SyntaxError(`"${character}" is expected at ${this.#at}`);
  }
  #value(depth: number): Json {
    if (depth > 200) throw new SyntaxError("JSON is nested too deeply");
    if (this.#skip("{")) {
      const out: { [key: string]: Json } = Object.create(null);
      if (this.#skip("}")) return out;
      do {
        this.#space();
        const key = this.#string();
        this.#need(":");
        out[key] = this.#value(depth + 1);
      } while (this.#skip(","));
      this.#need("}");
      return out;
    }
    if (this.#skip("[")) {
      const out: Json[] = [];
      if (this.#skip("]")) return out;
      do out.push(this.#value(depth + 1));
      while (this.#skip(","));
      this.#need("]");
      return out;
    }
    if (this.#source[this.#at] === '"') return this.#string();
    const word = this.#next(/true|false|null/y);
    if (word) return word === "null" ? null : word === "true";
    const digits = this.#next(/-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y);
    if (digits === undefined) throw new SyntaxError(`unexpected character at ${this.#at}`);
    return fromText(digits);
  }
  #string(): string {
    const source = this.#next(/"(?:[^"\\]|\\.)*"/y);
    if (source === undefined) throw new SyntaxError(`a string is expected at ${this.#at}`);
    return JSON.parse(source);
  }
}
