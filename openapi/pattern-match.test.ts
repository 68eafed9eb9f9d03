import { within } from "../test/within.ts";
import { patternMatcher } from "./pattern-match.ts";

test.each([
  ["v[0-9]+", "v12", true],
  ["v[0-9]+", "xv12", false],
  ["a|b", "ab", false],
  ["[", "x", "invalid"],
] as const)("pattern %j against %j gives %j", (pattern, text, want) => {
  expect(patternMatcher()(pattern, text)).toBe(want);
});

test("patterns that would run for ages are given up, many of them together soon too", () => {
  const fits = patternMatcher();
  const began = performance.now();
  for (let i = 0; i < 64; i++) expect(fits("(a+)+b", "a".repeat(40))).toBe("slow");
  expect(performance.now() - began).toBeLessThan(within(2_000));
});
