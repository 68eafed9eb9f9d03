import { canonical, digest } from "./canonical.ts";

const cases: [string, { given: unknown; want: string }][] = [
  ["sorts keys at every depth", { given: { b: 1, a: { d: 2, c: 3 } }, want: '{"a":{"c":3,"d":2},"b":1}' }],
  ["leaves undefined out of objects", { given: { a: undefined, b: null }, want: '{"b":null}' }],
  ["keeps array order, with null for undefined", { given: [2, undefined, 1], want: "[2,null,1]" }],
  ["escapes strings as JSON does", { given: 'a"\n', want: '"a\\"\\n"' }],
];
test.each(cases)("canonical %s", (_, { given, want }) => {
  expect(canonical(given)).toBe(want);
});
test("digest does not depend on key order", () => {
  expect(digest({ a: 1, b: 2 })).toBe(digest({ b: 2, a: 1 }));
});
