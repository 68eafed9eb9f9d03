import { unknown, type Value } from "../value/value.ts";
import type { Attributes, Rules } from "./attribute.ts";
import { Diagnostics } from "./diagnostics.ts";
import { validate } from "./validate.ts";

function said(rules: Rules, value: Value): string[] {
  const attributes: Attributes = { a: { type: "string", presence: "optional", rules } };
  const diagnostics = new Diagnostics();
  validate({ attributes }, new Map([["a", value]]), diagnostics, { writeOnly: true });
  return diagnostics.list.map(({ detail }) => detail);
}

const canary = "hunter2canary";
test.each([
  ["broken JSON", { json: "any" }, `{"a": ${canary}}`],
  ["JSON that is no object", { json: "object" }, JSON.stringify(canary)],
  [
    "an address with a password",
    { pattern: "^https://[^@]+$", maxLength: 2048 },
    `https://user:${canary}@git.example.com`,
  ],
  ["a text of several lines", { pattern: "^x$", maxLength: 1024 }, `-----BEGIN KEY-----\n${canary}`],
  ["a text of any length", { pattern: "^x$", maxLength: 65_536 }, canary],
] as [string, Rules, string][])(
  "a message about %s shows nothing of it: a provider is not told what is sensitive",
  (_, rules, value) => {
    const [text, ...others] = said(rules, value);
    expect(others).toEqual([]);
    expect(text).toMatch(/^(The text must|It must be a JSON object).*\.$/s);
    expect(text).not.toContain(canary);
  },
);

test("a message shows a short text, and the choice that was probably meant", () => {
  expect(said({ pattern: "^x$", maxLength: 63 }, "y")[0]).toContain('got "y"');
  expect(said({ enum: ["background", "foreground"] }, "x")).toEqual([
    'One of "background", "foreground" is wanted, got "x".',
  ]);
  expect(said({ enum: ["a"] }, unknown)).toEqual([]);
});

test("a deprecated attribute is warned of where it is used", () => {
  const attributes: Attributes = {
    a: { type: "string", presence: "optional", deprecated: true, description: "`b` says more." },
  };
  const warnings = [null, "x"].map((value) => {
    const diagnostics = new Diagnostics();
    validate({ attributes }, new Map([["a", value]]), diagnostics, { writeOnly: true });
    return diagnostics.list.map(({ detail }) => detail);
  });
  expect(warnings).toEqual([[], ["`a` is deprecated. `b` says more."]]);
});
