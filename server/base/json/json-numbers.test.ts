import { findInexact, isExact } from "./json-numbers.ts";

test.each([
  ["0", true],
  ["-0", true],
  ["0.1", true],
  ["1.50", true],
  ["123456789012345", true],
  ["9007199254740991", true],
  ["9007199254740992", true],
  ["9007199254740993", false],
  ["-9007199254740993", false],
  ["123456789.123456789", false],
  ["0.30000000000000004", true],
  ["0.300000000000000040000", true],
  ["0.3333333333333333", true],
  ["0.33333333333333333", false],
  ["1e21", true],
  ["1E+21", true],
  ["1000000000000000000000", true],
  ["1000000000000000000001", false],
  ["1.7976931348623157e308", true],
  ["1e309", false],
  ["5e-324", true],
  ["1e-400", false],
  ["0e999999999999", true],
  [`0.1${"0".repeat(500)}`, false],
] as [string, boolean][])("%s is kept exactly: %s", (token, want) => {
  expect(isExact(token)).toBe(want);
});

test.each([
  ['{"a":[1,"9007199254740993",{"b/c":9007199254740993}]}', "/a/2/b~1c"],
  ['{"a":"x","\\u0062" : 1e400}', "/b"],
  ['{"a":{"x":1},"c":[[],[1,2.5],{"k":"\\"9"}],"d":0.12345678901234567890}', "/d"],
  ["[0,-1e-999]", "/1"],
  ["9007199254740993", ""],
  ['{"text":"9007199254740993 \\" 1e999","n":1.5}', undefined],
] as [string, string | undefined][])("%s: the pointer of the first inexact number is %s", (text, want) => {
  JSON.parse(text);
  expect(findInexact(text)).toBe(want);
});

test("a long text of numbers costs one pass", () => {
  const text = `[${"0.30000000000000004,".repeat(50_000)}0]`;
  const started = performance.now();
  expect(findInexact(text)).toBeUndefined();
  expect(performance.now() - started).toBeLessThan(2_000);
});
