import type { Type } from "./type.ts";

/** The refinement of an unknown value. A planned refinement must hold after apply. */
export interface Refinement {
  readonly notNull?: boolean;
  readonly prefix?: string;
  readonly min?: readonly [bound: number | bigint | Decimal, inclusive: boolean];
  readonly max?: readonly [bound: number | bigint | Decimal, inclusive: boolean];
  readonly minLength?: number;
  readonly maxLength?: number;
}

/** A value that will be known after apply. */
export class Unknown {
  readonly refinement: Refinement | undefined;
  constructor(refinement?: Refinement) {
    this.refinement = refinement;
  }
}

/** The plain unknown value. */
export const unknown = new Unknown();

/** A number that neither a double nor a bigint holds exactly, kept as decimal text. */
export class Decimal {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** A value of an attribute whose type is `dynamic`: it brings its own type. */
export class Dynamic {
  readonly type: Type;
  readonly value: Value;
  constructor(type: Type, value: Value) {
    this.type = type;
    this.value = value;
  }
}

export type Value = null | Unknown | string | boolean | number | bigint | Decimal | Dynamic | Value[] | ValueMap;
/** An object or a map: both are `Map`, because names such as `__proto__` exist. */
export type ValueMap = Map<string, Value>;

export const isUnknown = (value: Value): value is Unknown => value instanceof Unknown;
export const isMap = (value: Value): value is ValueMap => value instanceof Map;

/** A string as Terraform holds it: NFC, and writable as UTF-8. */
export function text(value: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: pure ASCII needs no normalisation, and most strings are
  if (/^[\x00-\x7f]*$/.test(value)) return value;
  if (/\p{Surrogate}/u.test(value)) throw new Error("string contains a lone surrogate and cannot be written as UTF-8");
  return value.normalize("NFC");
}

/** The attribute of an object value; null when the object is null or has no such attribute. */
export function field(value: Value, name: string): Value {
  if (value instanceof Unknown) return value.refinement ? unknown : value;
  return value instanceof Map ? (value.get(name) ?? null) : null;
}

/** The string in an attribute, or undefined when it is null or unknown. */
export function stringField(value: Value, name: string): string | undefined {
  const found = field(value, name);
  return typeof found === "string" ? found : undefined;
}
