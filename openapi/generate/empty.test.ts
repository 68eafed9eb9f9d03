import document from "../contract/openapi.json" with { type: "json" };
import { undecidedEmptiness } from "./empty.ts";

const spec = (properties: object, required: string[] = []) => ({
  XSpec: { type: "object", properties, required },
  XPut: {},
  Free: { type: "object" },
});

test("the contract decides for every value that may be empty whether that counts", () => {
  expect(undecidedEmptiness(document.components.schemas)).toEqual([]);
});

test.each([
  ["an optional object", spec({ a: { type: "object" } }), ["XSpec.a"]],
  ["an optional list", spec({ a: { type: "array", items: {} } }), ["XSpec.a"]],
  ["one behind a reference", spec({ a: { $ref: "#/components/schemas/Free" } }), ["XSpec.a"]],
  [
    "one inside a list",
    spec({ a: { type: "array", minItems: 1, items: { properties: { b: { type: "array" } } } } }),
    ["XSpec.a[].b"],
  ],
  [
    "one inside a map",
    spec({
      a: { "x-empty-counts": false, type: "object", additionalProperties: { properties: { b: { type: "array" } } } },
    }),
    ["XSpec.a.*.b"],
  ],
  ["a decided one", spec({ a: { type: "object", "x-empty-counts": false } }), []],
  ["a required one", spec({ a: { type: "array" } }, ["a"]), []],
  ["an object that cannot be empty", spec({ a: { type: "object", required: ["b"], properties: { b: {} } } }), []],
  ["credentials", spec({ a: { type: "object", writeOnly: true } }), []],
] as [string, object, string[]][])("%s", (_name, schemas, want) => {
  expect(undecidedEmptiness(schemas)).toEqual(want);
});
