import { within } from "../../../test/within.ts";
import { matchGlob } from "./glob.ts";

test.each<[string, string, string, boolean]>([
  ["*", "a/b", "", true],
  ["*", "a/b", "/", false],
  ["**", "a/b", "/", true],
  ["a/*/c", "a/b/c", "/", true],
  ["a/*/c", "a/b/b/c", "/", false],
  ["a/**/c", "a/b/b/c", "/", true],
  ["sub/*", "sub/deep/x.yaml", "", true],
  ["a?c", "abc", "", true],
  ["a?c", "a/c", "/", false],
  ["[a-c]x", "bx", "", true],
  ["[!a-c]x", "bx", "", false],
  ["[^a]x", "bx", "", true],
  ["{a,b*}.yaml", "bcd.yaml", "", true],
  ["{a,{b,c}}", "c", "", true],
  ["\\*", "*", "", true],
  ["\\*", "a", "", false],
  ["[a", "[a", "", true],
  ["", "", "", true],
  ["", "a", "", false],
  ["*a", "aaaaab", "", false],
])("%j on %j with separators %j: %j", (pattern, text, separators, want) => {
  expect(matchGlob(pattern, text, separators)).toBe(want);
});

test("no pattern makes it slow", () => {
  const started = performance.now();
  expect(matchGlob(`${"*a".repeat(200)}b`, "a".repeat(5_000))).toBe(false);
  expect(performance.now() - started).toBeLessThan(within(3_000));
});
