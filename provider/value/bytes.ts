import type { Decimal } from "./value.ts";

/** Writes msgpack tokens into one growing buffer. */
export class Writer {
  #buffer = Buffer.allocUnsafe(1024);
  #at = 0;

  /** Room for so many bytes: where they begin. It may replace the buffer, so it is asked before the buffer is named. */
  #need(size: number): number {
    const at = this.#at;
    if (at + size > this.#buffer.length) {
      const grown = Buffer.allocUnsafe(Math.max(this.#buffer.length * 2, at + size));
      this.#buffer.copy(grown, 0, 0, at);
      this.#buffer = grown;
    }
    this.#at = at + size;
    return at;
  }
  byte(value: number): void {
    const at = this.#need(1);
    this.#buffer[at] = value;
  }
  raw(bytes: Uint8Array): void {
    const at = this.#need(bytes.length);
    this.#buffer.set(bytes, at);
  }
  /** A length after its tag: `fix` takes up to `fixMax` in the tag itself, then 8 (where it exists), 16 and 32 bits. */
  size(length: number, fix: number, fixMax: number, tag8: number, tag16: number): void {
    if (length <= fixMax) this.byte(fix | length);
    else if (length < 0x100 && tag8) {
      this.byte(tag8);
      this.byte(length);
    } else if (length < 0x10000) {
      this.byte(tag16);
      const at = this.#need(2);
      this.#buffer.writeUInt16BE(length, at);
    } else {
      this.byte(tag16 + 1);
      const at = this.#need(4);
      this.#buffer.writeUInt32BE(length, at);
    }
  }
  string(value: string): void {
    const length = Buffer.byteLength(value);
    this.size(length, 0xa0, 31, 0xd9, 0xda);
    const at = this.#need(length);
    this.#buffer.write(value, at, length, "utf8");
  }
  binary(value: Uint8Array): void {
    this.size(value.length, 0, -1, 0xc4, 0xc5);
    this.raw(value);
  }
  array(length: number): void {
    this.size(length, 0x90, 15, 0, 0xdc);
  }
  map(length: number): void {
    this.size(length, 0x80, 15, 0, 0xde);
  }
  ext(type: number, payload: Uint8Array): void {
    this.size(payload.length, 0, -1, 0xc7, 0xc8);
    this.byte(type);
    this.raw(payload);
  }
  /** Integers up to 64 bits as integers, everything else as decimal text, which Terraform reads exactly. */
  number(value: number | bigint | Decimal, print: (v: number | bigint | Decimal) => string): void {
    if (typeof value === "number" && Number.isSafeInteger(value)) {
      if (value >= -32 && value < 0x80) {
        this.byte(value & 0xff);
        return;
      }
      if (value >= -0x8000_0000 && value <= 0x7fff_ffff) {
        this.byte(0xd2);
        const at = this.#need(4);
        this.#buffer.writeInt32BE(value, at);
        return;
      }
      value = BigInt(value);
    }
    if (typeof value === "bigint" && value === BigInt.asIntN(64, value)) {
      this.byte(0xd3);
      const at = this.#need(8);
      this.#buffer.writeBigInt64BE(value, at);
      return;
    }
    this.string(print(value));
  }
  done(): Buffer {
    return this.#buffer.subarray(0, this.#at);
  }
}

/** What one msgpack token is. Arrays and maps carry only their length: the caller reads the elements. */
export type MsgpackToken =
  | { kind: "nil" }
  | { kind: "bool"; value: boolean }
  | { kind: "int"; value: number | bigint }
  | { kind: "float"; value: number }
  | { kind: "string"; value: string }
  | { kind: "binary"; value: Buffer }
  | { kind: "array"; length: number }
  | { kind: "map"; length: number }
  | { kind: "ext"; type: number; value: Buffer };

const small = (value: bigint): number | bigint => (Number.isSafeInteger(Number(value)) ? Number(value) : value);

/** Reads msgpack tokens; every read is checked against the end of the input. */
export class Reader {
  readonly #buffer: Buffer;
  #at = 0;
  constructor(buffer: Buffer) {
    this.#buffer = buffer;
  }
  get ended(): boolean {
    return this.#at >= this.#buffer.length;
  }
  #take(size: number): Buffer {
    if (this.#at + size > this.#buffer.length) throw new Error("msgpack ends too early");
    this.#at += size;
    return this.#buffer.subarray(this.#at - size, this.#at);
  }
  /** A claimed length can never exceed the bytes that are left, since each element takes at least one. */
  #collection(kind: "array" | "map", length: number): MsgpackToken {
    if (length > this.#buffer.length - this.#at) throw new Error("msgpack collection is longer than its input");
    return { kind, length };
  }
  #string = (length: number): MsgpackToken => ({ kind: "string", value: this.#take(length).toString("utf8") });
  #ext(length: number): MsgpackToken {
    const type = this.#take(1).readInt8();
    return { kind: "ext", type, value: this.#take(length) };
  }
  token(): MsgpackToken {
    const tag = this.#take(1)[0]!;
    if (tag < 0x80) return { kind: "int", value: tag };
    if (tag >= 0xe0) return { kind: "int", value: tag - 0x100 };
    if (tag < 0x90) return this.#collection("map", tag & 15);
    if (tag < 0xa0) return this.#collection("array", tag & 15);
    if (tag < 0xc0) return this.#string(tag & 31);
    switch (tag) {
      case 0xc0:
        return { kind: "nil" };
      case 0xc2:
      case 0xc3:
        return { kind: "bool", value: tag === 0xc3 };
      case 0xc4:
      case 0xc5:
      case 0xc6:
        return { kind: "binary", value: this.#take(this.#length(tag - 0xc4)) };
      case 0xc7:
      case 0xc8:
      case 0xc9:
        return this.#ext(this.#length(tag - 0xc7));
      case 0xca:
        return { kind: "float", value: this.#take(4).readFloatBE() };
      case 0xcb:
        return { kind: "float", value: this.#take(8).readDoubleBE() };
      case 0xcc:
      case 0xcd:
      case 0xce:
        return { kind: "int", value: this.#length(tag - 0xcc) };
      case 0xcf:
        return { kind: "int", value: small(this.#take(8).readBigUInt64BE()) };
      case 0xd0:
        return { kind: "int", value: this.#take(1).readInt8() };
      case 0xd1:
        return { kind: "int", value: this.#take(2).readInt16BE() };
      case 0xd2:
        return { kind: "int", value: this.#take(4).readInt32BE() };
      case 0xd3:
        return { kind: "int", value: small(this.#take(8).readBigInt64BE()) };
      case 0xd4:
      case 0xd5:
      case 0xd6:
      case 0xd7:
      case 0xd8:
        return this.#ext(1 << (tag - 0xd4));
      case 0xd9:
      case 0xda:
      case 0xdb:
        return this.#string(this.#length(tag - 0xd9));
      case 0xdc:
      case 0xdd:
        return this.#collection("array", this.#length(tag - 0xdc + 1));
      case 0xde:
      case 0xdf:
        return this.#collection("map", this.#length(tag - 0xde + 1));
      default:
        throw new Error(`not a msgpack tag: ${tag}`);
    }
  }
  /** An unsigned length of 1, 2 or 4 bytes. */
  #length(power: number): number {
    return this.#take(1 << power).readUIntBE(0, 1 << power);
  }
}
