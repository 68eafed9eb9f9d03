import { findAll, PatternFault, PatternTooMuch } from "./go-pattern.ts";

// Expression | text | flags | what fits, as Go's regexp finds it
test.each<[string, string, string, string[]]>([
  ["a.c", "abc a\nc a\rc", "", ["abc", "a\rc"]],
  ["a.c", "abc a\nc", "s", ["abc", "a\nc"]],
  ["(?s)a.c", "a\nc", "", ["a\nc"]],
  ["(?i)abc", "ABC abc", "", ["ABC", "abc"]],
  ["abc", "ABC abc", "i", ["ABC", "abc"]],
  ["\\s+", "a \t\n\u00a0b\v", "", [" \t\n"]],
  ["[\\s,]+", "a, b", "", [", "]],
  ["\\S+", "a\u00a0b c", "", ["a\u00a0b", "c"]],
  ["\\pL+", "été 1", "", ["été"]],
  ["[\\pN-]+", "a1-2", "", ["1-2"]],
  ["\\Qa.b\\E+", "a.bb axb", "", ["a.bb"]],
  ["[[:alpha:]_]+", "a_b1", "", ["a_b"]],
  ["(|a)b(a|)", "abab", "", ["aba", "b"]],
  ["(\\||a)()b", "|bab", "", ["|b", "ab"]],
  ["\\bab*", "ab cab", "", ["ab"]],
  ["\\Aa|b\\z", "ab", "", ["a", "b"]],
  ["b*", "abb", "", ["", "bb"]],
])("%s in %j, %s", (pattern, text, flags, want) => {
  expect(findAll(pattern, text, flags).map(({ groups }) => groups[0])).toEqual(want);
});

test("groups have names and places, also those that take no part", () => {
  expect(findAll("(?P<l>[a-z])(?:-)?(\\d)?(?<e>!)?", "a1")).toMatchObject([
    { at: 0, names: [undefined, "l", undefined, "e"], places: [0, 0, 1, null] },
  ]);
});

test.each(["(", "(?=a)", "(?<!a)b", "(a)\\1", "[a"])("%s is refused", (pattern) => {
  expect(() => findAll(pattern, "a")).toThrow(PatternFault);
});

test("an expression that takes exponential time is ended", () => {
  expect(() => findAll("^(a+)+$", `${"a".repeat(40)}!`)).toThrow(PatternTooMuch);
});

test.each(["a?", "(a?)", "(?:|a)", "(a|)", "(?:\\b|a)", "a{0,3}"])(
  "an expression with %s in a row is made ready in bounded time",
  (part) => {
    const before = process.cpuUsage();
    const longest = "a".repeat(40);
    try {
      findAll(part.repeat(40) + longest, longest);
    } catch (error) {
      expect(error).toBeInstanceOf(PatternTooMuch);
    }
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1_000).toBeLessThan(600);
  },
);
