import document from "../../contract/openapi.json" with { type: "json" };
import { inWords, PATTERNS, patternFault } from "./patterns.ts";

/** Every pattern below a part of the contract. */
function patternsIn(node: unknown): string[] {
  if (typeof node !== "object" || node === null) return [];
  return Object.entries(node).flatMap(([name, one]) =>
    name === "pattern" && typeof one === "string" ? [one] : patternsIn(one),
  );
}
const inContract = [...new Set(patternsIn(document))].sort();

test("every pattern of the contract is said in words, and no other one", () => {
  expect([...PATTERNS].sort()).toEqual(inContract);
});

test.each(inContract)("the example for %s fits it", (pattern) => {
  const examples = [
    ...patternFault(pattern)
      .split("for example ")[1]!
      .matchAll(/`([^`]+)`/g),
  ].map(([, example]) => example!);
  expect(examples.length).toBeGreaterThan(0);
  for (const example of examples.filter((one) => !one.endsWith("…"))) expect(example).toMatch(new RegExp(pattern, "u"));
});

test("a validator's message gets the words, also for a pattern with quotes, and another message stays", () => {
  expect(inWords('must match pattern "^https://[^\\s@]+$"')).toMatch(
    /^must be an address that begins with `https:\/\/`/,
  );
  expect(inWords("must be string")).toBe("must be string");
});
