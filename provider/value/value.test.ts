import { canonical, equal, whollyKnown } from "./equal.ts";
import { fromJson, impliedType, type Json, parseJson, toJson } from "./json.ts";
import { decode, encode } from "./msgpack.ts";
import { compare, fromDouble, fromText, print } from "./number.ts";
import { attr, index, key, print as printPath, root } from "./path.ts";
import {
  bool,
  dynamic,
  list,
  map,
  number,
  object,
  parseType,
  printType,
  set,
  string,
  type Type,
  tuple,
} from "./type.ts";
import { Decimal, Dynamic, Unknown, unknown, type Value } from "./value.ts";

const row = object({ a: string, b: number });
const of = (entries: Record<string, Value>): Value => new Map(Object.entries(entries));

/** A value, and the bytes that mean it. */
const codec: [name: string, type: Type, value: Value, hex: string][] = [
  ["null", string, null, "c0"],
  ["true", bool, true, "c3"],
  ["empty string", string, "", "a0"],
  ["string", string, "é", "a2c3a9"],
  ["integer, as text", number, 5, "a135"],
  ["negative integer, as text", number, -1, "a22d31"],
  ["integer of 64 bits, as text", number, 9007199254740993n, "b039303037313939323534373430393933"],
  ["integer beyond 64 bits", number, 18446744073709551616n, "b43138343436373434303733373039353531363136"],
  ["decimal", number, 0.1, "a3302e31"],
  [
    "long decimal",
    number,
    new Decimal("0.12345678901234567890123"),
    "b9302e3132333435363738393031323334353637383930313233",
  ],
  ["unknown", string, unknown, "d40000"],
  ["unknown, not null", string, new Unknown({ notNull: true }), "c7030c8101c2"],
  ["unknown with a prefix", string, new Unknown({ notNull: true, prefix: "x-" }), "c7070c8201c202a2782d"],
  ["list", list(number), [1, 2], "92a131a132"],
  ["set", set(string), ["a"], "91a161"],
  ["tuple", tuple([string, bool]), ["a", false], "92a161c2"],
  ["map with a hostile key", map(bool), new Map([["__proto__", true]]), "81a95f5f70726f746f5f5fc3"],
  ["object, every attribute written", row, of({ a: "x", b: null }), "82a161a178a162c0"],
  ["dynamic", dynamic, new Dynamic(string, "a"), "92c40822737472696e6722a161"],
];

test.each(codec)("msgpack writes and reads %s", (_name, type, value, hex) => {
  expect(encode(type, value).toString("hex")).toBe(hex);
  const back = decode(type, Buffer.from(hex, "hex"));
  if (value instanceof Unknown) expect(back).toEqual(value);
  else expect(equal(type, back, value)).toBe(true);
});

test.each([
  ["a small integer", number, "05", 5],
  ["a negative integer", number, "ff", -1],
  ["an integer of 64 bits", number, "d30020000000000001", 9007199254740993n],
  ["a double that is exact", number, "cb3fe0000000000000", 0.5],
  [
    "a double that is not a short decimal",
    number,
    "cb3fb999999999999a",
    new Decimal("0.1000000000000000055511151231257827021181583404541015625"),
  ],
  ["an unsigned integer of 64 bits", number, "cfffffffffffffffff", 18446744073709551615n],
  ["an unknown extension as unknown", string, "c7010763", unknown],
  ["a broken refinement as unknown", string, "c7020c81a1", unknown],
  ["NFD as NFC", string, "a365cc81", "é"],
  ["a dynamic null as null", dynamic, "92c40822737472696e6722c0", null],
] as [string, Type, string, Value][])("msgpack reads %s", (_name, type, hex, want) => {
  expect(decode(type, Buffer.from(hex, "hex"))).toEqual(want);
});

test.each([
  ["a truncated string", string, "a5616263"],
  ["a list longer than its input", list(string), "dd7fffffff"],
  ["a missing attribute", row, "81a161a178"],
  ["an unknown attribute", row, "82a161a178a163c0"],
  ["another kind", string, "01"],
  ["bytes after the value", string, "a0a0"],
  ["an invalid tag", string, "c1"],
] as [string, Type, string][])("msgpack refuses %s", (_name, type, hex) => {
  expect(() => decode(type, Buffer.from(hex, "hex"))).toThrow();
});

test("a lone surrogate is refused, because UTF-8 would change it", () => {
  expect(() => encode(string, "a\ud800")).toThrow("lone surrogate");
});

test("lengths of every width survive", () => {
  for (const length of [0, 31, 32, 255, 256, 65_535, 65_536]) {
    const value = "x".repeat(length);
    expect(decode(string, encode(string, value))).toBe(value);
    const items = Array.from({ length: Math.min(length, 70_000) }, () => true);
    expect((decode(list(bool), encode(list(bool), items)) as Value[]).length).toBe(items.length);
  }
});

test.each([
  ["1e2", "100"],
  ["0.10", "0.1"],
  ["-0", "0"],
  ["123456789012345678901234567890", "123456789012345678901234567890"],
  ["-1.5e-7", "-0.00000015"],
])("number %s is spelled %s", (given, want) => {
  expect(print(fromText(given))).toBe(want);
});

test("numbers keep the smallest exact form and compare exactly", () => {
  expect(fromText("3")).toBe(3);
  expect(fromText("9007199254740993")).toBe(9007199254740993n);
  expect(fromText("0.1")).toBe(0.1);
  expect(fromText("0.1000000000000000000000001")).toBeInstanceOf(Decimal);
  expect(() => fromDouble(Number.POSITIVE_INFINITY)).toThrow();
  expect(compare(9007199254740993n, 9007199254740992n)).toBe(1);
  expect(compare(0.5, 2)).toBe(-1);
});

test("types survive their JSON form, and a broken one is refused", () => {
  const type = object({ a: list(set(map(string))), b: tuple([number, dynamic]), c: object({}) });
  expect(printType(parseType(printType(type)))).toEqual(printType(type));
  for (const bad of ["text", ["list"], ["map", ["x", "string"]], 5, null, ["object", null]])
    expect(() => parseType(bad)).toThrow();
});

test("sets have no order and no duplicates; unknown equals only unknown", () => {
  expect(
    equal(
      set(row),
      [of({ a: "x", b: 1 }), of({ a: "y", b: 2 })],
      [of({ a: "y", b: 2 }), of({ a: "x", b: 1 }), of({ a: "x", b: 1 })],
    ),
  ).toBe(true);
  expect(equal(list(string), ["a", "b"], ["b", "a"])).toBe(false);
  expect(equal(string, unknown, new Unknown({ notNull: true }))).toBe(true);
  expect(equal(string, unknown, "a")).toBe(false);
  expect(equal(map(string), new Map(), null)).toBe(false);
  expect(canonical(number, 1)).toBe(canonical(number, 1n));
  expect(whollyKnown([of({ a: unknown })])).toBe(false);
});

test("JSON keeps long numbers and reads state of another shape", () => {
  const big = parseJson(
    '{"n": 12345678901234567890, "s": "a\\"1234567890123456789", "f": 1e3, "l": [true, null, []]}',
  ) as Record<string, Json>;
  expect(big).toEqual({ n: 12345678901234567890n, s: 'a"1234567890123456789', f: 1000, l: [true, null, []] });
  expect(fromJson(row, { a: 5, extra: true } as Json)).toEqual(of({ a: "5", b: null }));
  expect(toJson(row, of({ a: "x", b: 2 }))).toEqual({ a: "x", b: 2 });
  expect(printType(impliedType({ a: [1, "x"] }))).toEqual(["object", { a: ["tuple", ["number", "string"]] }]);
  expect(() => parseJson('{"a": 12345678901234567890')).toThrow(SyntaxError);
  expect(() => fromJson(bool, "maybe")).toThrow("a bool is wanted");
});

test("paths print as a person writes them", () => {
  expect(printPath(key(index(attr(attr(root, "source"), "list"), 0), "a"))).toBe('source.list[0]["a"]');
});

test("a value is written whole wherever the writer's buffer has to grow", () => {
  const type = tuple([string, string, list(number), number, number]);
  for (let filler = 960; filler <= 1_040; filler++) {
    const values: Value = [
      "x".repeat(filler),
      "y".repeat(300),
      Array.from({ length: 20 }, () => 70_000),
      -70_000,
      2n ** 60n,
    ];
    expect(decode(type, encode(type, values))).toEqual(values);
    for (const last of ["y".repeat(70_000), 70_000, 2n ** 60n, true] as const) {
      const other = typeof last === "boolean" ? bool : number;
      const pair = tuple([string, typeof last === "string" ? string : other]);
      expect(decode(pair, encode(pair, ["x".repeat(filler), last]))).toEqual(["x".repeat(filler), last]);
    }
  }
});
