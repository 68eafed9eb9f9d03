import { parse } from "yaml";
import { readDocuments } from "../objects/documents.ts";
import { parseExact, parseExactJson } from "./exact.ts";
import { setPath } from "./flags.ts";

const LONG = "9007199254740993";

test.each(["a: 1", "a: 1e21", "a: 0x10", `a: "${LONG}"`, "a: [0.1, -0, 1_000]", '{"a": 0.30000000000000004}'])(
  "%s is taken",
  (text) => {
    expect(parseExact(text, "f")).toEqual(parse(text));
  },
);

test("a number that would become another one is refused, wherever it is given", () => {
  const said = "has more digits than 64-bit floating point keeps";
  expect(() => parseExact(`a: {b: [${LONG}]}`, "f.yaml")).toThrow(`f.yaml: the number ${LONG} ${said}`);
  expect(() => parseExactJson(`{"a":${LONG}}`, "--param")).toThrow(said);
  expect(() => setPath({}, `a.b=${LONG}`)).toThrow(`--set: the number ${LONG} ${said}`);
  const file = `kind: Application\nid: a\nspec: { source: { helm: { valuesObject: { id: ${LONG} } } } }\n`;
  expect(() => readDocuments(file, "app.yaml", undefined, {} as never)).toThrow(`app.yaml: the number ${LONG} ${said}`);
});
