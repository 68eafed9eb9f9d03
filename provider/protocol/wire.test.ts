import type { Message, MessageName } from "./messages.ts";
import { decode, encode } from "./wire.ts";

/** Bytes checked against the protocol's own encoding rules, by hand. */
const table: [name: string, message: MessageName, data: object, hex: string][] = [
  ["nothing", "StopProvider.Request", {}, ""],
  ["a string", "StopProvider.Response", { Error: "x" }, "0a0178"],
  [
    "an index of zero, whose presence matters",
    "AttributePath",
    { steps: [{ attribute_name: "a" }, { element_key_int: 0 }] },
    "0a030a01610a021800",
  ],
  ["a negative integer in ten bytes", "FunctionError", { function_argument: -1 }, "10ffffffffffffffffff01"],
  ["a boolean", "ClientCapabilities", { write_only_attributes_allowed: true }, "1001"],
  [
    "a map of messages",
    "GetFunctions.Response",
    { functions: new Map([["f", { summary: "s" }]]) },
    "0a080a01661203220173",
  ],
  ["a large length", "DynamicValue", { msgpack: Buffer.alloc(300) }, `0aac02${"00".repeat(300)}`],
];

test.each(table)("writes and reads %s", (_name, message, data, hex) => {
  expect(encode(message, data as Message<typeof message>).toString("hex")).toBe(hex);
  expect(decode(message, Buffer.from(hex, "hex"))).toEqual(data);
});

test("zero scalars are left out, unless their presence means something", () => {
  expect(encode("Diagnostic", { severity: 0, summary: "" }).length).toBe(0);
});

test.each([
  ["an unknown field is skipped", "ClientCapabilities", "f83f01 0801", { deferral_allowed: true }],
  [
    "fixed-width fields are skipped",
    "ClientCapabilities",
    "f93f0000000000000000 fd3f00000000 0801",
    { deferral_allowed: true },
  ],
  ["a map entry may lack key and value", "GetFunctions.Response", "0a00", { functions: new Map([["", {}]]) }],
] as [string, MessageName, string, object][])("%s", (_name, message, hex, want) => {
  expect(decode(message, Buffer.from(hex.replaceAll(" ", ""), "hex"))).toEqual(want);
});

test.each([
  ["a length beyond the end", "0aff01"],
  ["an endless varint", "ffffffffffffffffffffff"],
  ["a group", "0b"],
  ["a number where bytes are wanted", "0801"],
] as [string, string][])("refuses %s", (_name, hex) => {
  expect(() => decode("DynamicValue", Buffer.from(hex, "hex"))).toThrow();
});
