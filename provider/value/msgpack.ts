import { type MsgpackToken, Reader, Writer } from "./bytes.ts";
import { fromDouble, fromText, print } from "./number.ts";
import { dynamic, parseType, printType, type Type } from "./type.ts";
import { Decimal, Dynamic, type Refinement, text, Unknown, unknown, type Value } from "./value.ts";

const plainUnknown = Uint8Array.of(0xd4, 0, 0);
/** Core refuses longer refinements, and so do we. */
const maxRefinement = 1024;

/** Writes a value as the protocol wants it. The schema's type drives it: an object has every attribute, null where unset. */
export function encode(type: Type, value: Value): Buffer {
  const out = new Writer();
  write(out, type, value);
  return out.done();
}

/** Reads a value of a type. */
export function decode(type: Type, bytes: Buffer): Value {
  const reader = new Reader(bytes);
  const value = read(reader, type);
  if (!reader.ended) throw new Error("msgpack has bytes after its value");
  return value;
}

function mismatch(type: Type, value: unknown): Error {
  const other = Array.isArray(value) ? "a list" : typeof value;
  return new Error(`a ${type.kind} is wanted, got ${value instanceof Map ? "an object" : other}`);
}

function write(out: Writer, type: Type, value: Value): void {
  if (value === null || value === undefined) {
    out.byte(0xc0);
    return;
  }
  if (value instanceof Unknown) {
    writeUnknown(out, value);
    return;
  }
  switch (type.kind) {
    case "string":
      if (typeof value !== "string") throw mismatch(type, value);
      out.string(text(value));
      return;
    case "bool":
      if (typeof value !== "boolean") throw mismatch(type, value);
      out.byte(value ? 0xc3 : 0xc2);
      return;
    case "number":
      if (typeof value !== "number" && typeof value !== "bigint" && !(value instanceof Decimal))
        throw mismatch(type, value);
      // As decimal text, which core reads with the precision that it gives numbers of the state. A msgpack integer or float gets another
      // precision there, and `terraform plan -refresh-only` then takes equal numbers for a change.
      out.string(print(value));
      return;
    case "dynamic":
      if (!(value instanceof Dynamic)) throw mismatch(type, value);
      out.array(2);
      out.binary(Buffer.from(JSON.stringify(printType(value.type))));
      write(out, value.type, value.value);
      return;
    case "list":
    case "set":
    case "tuple":
      if (!Array.isArray(value)) throw mismatch(type, value);
      if (type.kind === "tuple" && value.length !== type.of.length)
        throw new Error(`a tuple of ${type.of.length} is wanted, got ${value.length}`);
      out.array(value.length);
      for (const [i, item] of value.entries()) write(out, type.kind === "tuple" ? type.of[i]! : type.of, item);
      return;
    case "map":
      if (!(value instanceof Map)) throw mismatch(type, value);
      out.map(value.size);
      for (const [k, v] of value) {
        out.string(text(k));
        write(out, type.of, v);
      }
      return;
    case "object":
      if (!(value instanceof Map)) throw mismatch(type, value);
      for (const name of value.keys())
        if (!type.fields.has(name)) throw new Error(`object has an attribute ${name} that its type does not have`);
      out.map(type.fields.size);
      for (const [name, of] of type.fields) {
        out.string(name);
        write(out, of, value.get(name) ?? null);
      }
  }
}

/** A refined unknown is extension 12 with a small map; one that says nothing must be the plain extension 0. */
function writeUnknown(out: Writer, value: Unknown): void {
  const { notNull, prefix, min, max, minLength, maxLength } = value.refinement ?? {};
  const entries: [number, (w: Writer) => void][] = [];
  const bound =
    ([number, inclusive]: NonNullable<Refinement["min"]>) =>
    (w: Writer) => {
      w.array(2);
      w.number(number, print);
      w.byte(inclusive ? 0xc3 : 0xc2);
    };
  if (notNull) entries.push([1, (w) => w.byte(0xc2)]);
  if (prefix) entries.push([2, (w) => w.string(prefix)]);
  if (min) entries.push([3, bound(min)]);
  if (max) entries.push([4, bound(max)]);
  if (minLength) entries.push([5, (w) => w.number(minLength, print)]);
  if (maxLength !== undefined) entries.push([6, (w) => w.number(maxLength, print)]);
  if (entries.length === 0) {
    out.raw(plainUnknown);
    return;
  }
  const payload = new Writer();
  payload.map(entries.length);
  for (const [key, put] of entries) {
    payload.byte(key);
    put(payload);
  }
  if (payload.done().length > maxRefinement) {
    out.raw(plainUnknown);
    return;
  }
  out.ext(12, payload.done());
}

function read(reader: Reader, type: Type): Value {
  const token = reader.token();
  if (token.kind === "nil") return null;
  if (token.kind === "ext")
    return token.type === 12 && token.value.length <= maxRefinement ? readRefined(token.value) : unknown;
  switch (type.kind) {
    case "string":
      return text(expect(token, "string").value);
    case "bool":
      return expect(token, "bool").value;
    case "number":
      return readNumber(token);
    case "dynamic": {
      if (expect(token, "array").length !== 2) throw new Error("a dynamic value has two parts");
      const json = reader.token();
      const source = json.kind === "string" ? json.value : expect(json, "binary").value.toString("utf8");
      const of = parseType(JSON.parse(source));
      const value = read(reader, of);
      // A null of any type is null; an unknown keeps no type either, since `dynamic` can hold whatever arrives.
      return value === null || value instanceof Unknown || of.kind === dynamic.kind ? value : new Dynamic(of, value);
    }
    case "list":
    case "set":
      return Array.from({ length: expect(token, "array").length }, () => read(reader, type.of));
    case "tuple":
      if (expect(token, "array").length !== type.of.length) throw new Error("tuple has another length than its type");
      return type.of.map((of) => read(reader, of));
    case "map": {
      const out = new Map<string, Value>();
      for (let n = expect(token, "map").length; n > 0; n--)
        out.set(text(expect(reader.token(), "string").value), read(reader, type.of));
      return out;
    }
    case "object": {
      const out = new Map<string, Value>();
      for (let n = expect(token, "map").length; n > 0; n--) {
        const name = expect(reader.token(), "string").value;
        const of = type.fields.get(name);
        if (!of) throw new Error(`object has an attribute ${name} that its type does not have`);
        out.set(name, read(reader, of));
      }
      if (out.size !== type.fields.size)
        throw new Error(`an object with ${type.fields.size} attributes is wanted, got ${out.size}`);
      return out;
    }
  }
}

function expect<K extends MsgpackToken["kind"]>(token: MsgpackToken, kind: K): Extract<MsgpackToken, { kind: K }> {
  if (token.kind !== kind) throw new Error(`msgpack ${kind} is wanted, got ${token.kind}`);
  return token as Extract<MsgpackToken, { kind: K }>;
}

function readNumber(token: MsgpackToken): number | bigint | Decimal {
  if (token.kind === "int") return token.value;
  if (token.kind === "float") return fromDouble(token.value);
  return fromText(expect(token, "string").value);
}

/** Unknown keys are ignored: newer cores may say more. */
function readRefined(payload: Buffer): Unknown {
  const reader = new Reader(payload);
  const refinement: { -readonly [K in keyof Refinement]: Refinement[K] } = {};
  const bound = (): Refinement["min"] => {
    expect(reader.token(), "array");
    const number = readNumber(reader.token());
    return [number, expect(reader.token(), "bool").value];
  };
  try {
    for (let n = expect(reader.token(), "map").length; n > 0; n--) {
      const key = expect(reader.token(), "int").value;
      if (key === 1) refinement.notNull = !expect(reader.token(), "bool").value;
      else if (key === 2) refinement.prefix = expect(reader.token(), "string").value;
      else if (key === 3) refinement.min = bound()!;
      else if (key === 4) refinement.max = bound()!;
      else if (key === 5) refinement.minLength = Number(expect(reader.token(), "int").value);
      else if (key === 6) refinement.maxLength = Number(expect(reader.token(), "int").value);
      else break;
    }
  } catch {
    return unknown;
  }
  return Object.keys(refinement).length > 0 ? new Unknown(refinement) : unknown;
}
