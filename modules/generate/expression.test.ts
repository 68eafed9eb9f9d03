import { expression, pretty } from "./expression.ts";

test.each<[unknown, string]>([
  [null, "null"],
  [true, "true"],
  [1.5, "1.5"],
  ["text", '"text"'],
  ['a "quote" and \\ and\nline', '"a \\"quote\\" and \\\\ and\\nline"'],
  ["${var.id}", "var.id"],
  ["a-${var.id}", '"a-${var.id}"'],
  ["$${not}", '"$${not}"'],
  ['${join("}", ["{", var.a])}', 'join("}", ["{", var.a])'],
  [["a", 1], '["a", 1]'],
  [[], "[]"],
  [{}, "{}"],
  [{ a: 1, long: "x" }, '{\n  a    = 1\n  long = "x"\n}'],
  [{ "a.b": 1, "x/y z": 2 }, '{\n  "a.b"   = 1\n  "x/y z" = 2\n}'],
  [{ a: 1, nested: { b: 2 }, c: 3 }, "{\n  a = 1\n  nested = {\n    b = 2\n  }\n  c = 3\n}"],
  [[{ a: 1 }], "[{\n  a = 1\n}]"],
  [[{ a: 1 }, { b: 2 }], "[\n  {\n    a = 1\n  },\n  {\n    b = 2\n  },\n]"],
])("%j is written as %s", (value, want) => {
  expect(expression(value)).toBe(want);
});

test.each([
  ["f({a = 1, b = g(x)})", "f({\n  a = 1\n  b = g(x)\n})"],
  ["{a = x == y ? 1 : 2}", "{\n  a = x == y ? 1 : 2\n}"],
  ['{"a" = {"b.c" = "{=,}"}}', '{\n  a = {\n    "b.c" = "{=,}"\n  }\n}'],
  ['concat([yamlencode({a = "x-${f({})}"})], y)', 'concat([yamlencode({\n  a = "x-${f({})}"\n})], y)'],
])("%s is broken over lines", (code, want) => {
  expect(pretty(code, "")).toBe(want);
});

test("what does not balance is refused, not written", () => {
  expect(() => expression("${f(}")).toThrow(/unbalanced/);
});
