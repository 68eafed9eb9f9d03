import { type FieldSpec, type Message, type MessageName, messages } from "./messages.ts";

/** A field, ready for use: the table is made at a message's first use, since most messages never occur in one run. */
interface Field {
  readonly name: string;
  readonly number: number;
  readonly kind: string;
  readonly often: FieldSpec[2];
}
const tables = new Map<string, { fields: Field[]; byNumber: Map<number, Field> }>();

function table(message: string): { fields: Field[]; byNumber: Map<number, Field> } {
  let found = tables.get(message);
  if (!found) {
    const specs: Record<string, FieldSpec> = messages[message as MessageName];
    const fields = Object.entries(specs).map(([name, [number, kind, often]]) => ({ name, number, kind, often }));
    found = { fields, byNumber: new Map(fields.map((f) => [f.number, f])) };
    tables.set(message, found);
  }
  return found;
}

/** Messages nested deeper than this are refused; the deepest real one is a schema. */
const maxDepth = 64;

/** The bytes of a message, fields in the order of the table. */
export function encode<N extends MessageName>(message: N, data: Message<N>): Buffer {
  return Buffer.concat(fieldsOf(message, data as Record<string, unknown>));
}

function fieldsOf(message: string, data: Record<string, unknown>): Buffer[] {
  const out: Buffer[] = [];
  for (const field of table(message).fields) {
    const value = data[field.name];
    if (value === undefined) continue;
    if (field.often === "many") for (const item of value as unknown[]) put(out, field.number, field.kind, item, true);
    else if (field.often === "map")
      for (const [key, item] of value as Map<string, unknown>) {
        const entry: Buffer[] = [];
        put(entry, 1, "string", key, true);
        put(entry, 2, field.kind, item, true);
        bytes(out, field.number, Buffer.concat(entry));
      }
    else put(out, field.number, field.kind, value, field.often === "optional");
  }
  return out;
}

/** Scalars at their zero value are left out, as proto3 wants, unless their presence means something. */
function put(out: Buffer[], number: number, kind: string, value: unknown, always: boolean): void {
  if (kind === "bool" || kind === "int64" || kind === "enum") {
    const integer = Number(value);
    if (integer !== 0 || always) out.push(varint(number * 8), varint(integer));
  } else if (kind === "string" || kind === "bytes") {
    const data = typeof value === "string" ? Buffer.from(value) : (value as Buffer);
    if (data.length > 0 || always) bytes(out, number, data);
  } else bytes(out, number, Buffer.concat(fieldsOf(kind, value as Record<string, unknown>)));
}

function bytes(out: Buffer[], number: number, data: Buffer): void {
  out.push(varint(number * 8 + 2), varint(data.length), data);
}

/** A varint; a negative integer takes ten bytes, as two's complement of 64 bits. */
function varint(value: number): Buffer {
  if (value >= 0 && value < 0x80) return Buffer.of(value);
  const out: number[] = [];
  for (let rest = BigInt.asUintN(64, BigInt(value)); ; rest >>= 7n) {
    if (rest < 0x80n) return Buffer.of(...out, Number(rest));
    out.push(Number(rest & 0x7fn) | 0x80);
  }
}

/** Reads a message. Unknown fields are skipped: a newer Terraform may say more. */
export function decode<N extends MessageName>(message: N, data: Buffer): Message<N> {
  return read(message, data, 0) as Message<N>;
}

function read(message: string, data: Buffer, depth: number): Record<string, unknown> {
  if (depth > maxDepth) throw new Error("message is nested too deeply");
  const { byNumber } = table(message);
  const out: Record<string, unknown> = {};
  const cursor = new Cursor(data);
  while (!cursor.ended) {
    const tag = cursor.varint();
    const field = byNumber.get(tag >>> 3);
    const raw = cursor.field(tag & 7);
    if (!field) continue;
    if (field.often === "map") {
      out[field.name] ??= new Map();
      const map = out[field.name] as Map<string, unknown>;
      const entry = new Cursor(asBytes(raw));
      let key = "";
      let item: unknown = scalarOr(field.kind, Buffer.alloc(0), depth);
      while (!entry.ended) {
        const part = entry.varint();
        const value = entry.field(part & 7);
        if (part >>> 3 === 1) key = asBytes(value).toString("utf8");
        else if (part >>> 3 === 2) item = scalarOr(field.kind, value, depth);
      }
      map.set(key, item);
    } else if (field.often === "many") {
      out[field.name] ??= [];
      (out[field.name] as unknown[]).push(scalarOr(field.kind, raw, depth));
    } else out[field.name] = scalarOr(field.kind, raw, depth);
  }
  return out;
}

function scalarOr(kind: string, raw: Buffer | bigint, depth: number): unknown {
  switch (kind) {
    case "bool":
      return raw !== 0n;
    case "int64":
    case "enum":
      if (typeof raw !== "bigint") throw new Error("an integer is expected");
      return Number(BigInt.asIntN(64, raw));
    case "string":
      return asBytes(raw).toString("utf8");
    case "bytes":
      return asBytes(raw);
    default:
      return read(kind, asBytes(raw), depth + 1);
  }
}

function asBytes(raw: Buffer | bigint): Buffer {
  if (typeof raw === "bigint") throw new Error("bytes are wanted");
  return raw;
}

class Cursor {
  readonly #data: Buffer;
  #at = 0;
  constructor(data: Buffer) {
    this.#data = data;
  }
  get ended(): boolean {
    return this.#at >= this.#data.length;
  }
  #take(size: number): Buffer {
    if (size > this.#data.length - this.#at) throw new Error("message ends too early");
    this.#at += size;
    return this.#data.subarray(this.#at - size, this.#at);
  }
  big(): bigint {
    let out = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.#take(1)[0]!;
      out |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return out;
    }
    throw new Error("a varint has more than ten bytes");
  }
  varint(): number {
    const value = this.big();
    if (value > 0xffff_ffffn) throw new Error("a length or tag is too large");
    return Number(value);
  }
  field(wireType: number): Buffer | bigint {
    if (wireType === 0) return this.big();
    if (wireType === 1) return this.#take(8);
    if (wireType === 2) return this.#take(this.varint());
    if (wireType === 5) return this.#take(4);
    throw new Error(`wire type ${wireType} is not supported`);
  }
}
