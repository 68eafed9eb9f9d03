import { shapeFaults } from "./shape.ts";

const deref = (ref: string) => ({ "#/S": source })[ref] ?? {};
const source = {
  type: "object",
  additionalProperties: false,
  required: ["repo"],
  properties: { repo: {}, path: {}, "a/b": {} },
};
const spec = {
  additionalProperties: false,
  required: ["agent", "destination"],
  properties: {
    agent: {},
    destination: {},
    source: { $ref: "#/S" },
    sources: { items: { $ref: "#/S" } },
    map: { additionalProperties: { $ref: "#/S" } },
  },
};
const open = { required: ["a"], properties: { a: {} } };
const made = { allOf: [open, { properties: { credentials: {} } }], unevaluatedProperties: false };

test.each([
  ["fits", spec, { agent: "x", destination: {} }, []],
  ["no object", spec, "x", []],
  ["misses two", spec, {}, ["/agent: missing field `agent`", "/destination: missing field `destination`"]],
  [
    "is misspelt",
    spec,
    { agent: 1, destination: 1, source: { repo: 1, paht: "x" } },
    ["/source/paht: unknown field `paht`; did you mean `path`?"],
  ],
  [
    "is like nothing",
    source,
    { repo: 1, colour: 1 },
    ["/colour: unknown field `colour`; known are `repo`, `path`, `a/b`"],
  ],
  [
    "in a list",
    spec,
    { agent: 1, destination: 1, sources: [{ repo: 1 }, {}] },
    ["/sources/1/repo: missing field `repo`"],
  ],
  ["in a map", spec, { agent: 1, destination: 1, map: { "x/y": {} } }, ["/map/x~1y/repo: missing field `repo`"]],
  ["open", open, { a: 1, more: 1 }, []],
  [
    "made of parts",
    made,
    { a: 1, credential: 1 },
    ["/credential: unknown field `credential`; did you mean `credentials`?"],
  ],
  ["null is a value", source, { repo: null }, []],
])("%s", (_, schema, value, want) => {
  expect(shapeFaults(schema, value, deref).map((f) => `${f.pointer}: ${f.detail}`)).toEqual(want);
});

test("tells twenty faults at most", () => {
  expect(
    shapeFaults(source, Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`field${i}`, 1])), deref),
  ).toHaveLength(20);
});
