import { Secret } from "../../base/secret.ts";
import { matchListed } from "./look.ts";
import { decodeCall, encodeCall } from "./wire.ts";

test.each([
  ["a/b.json", "a/b.json", true],
  ["a/*.json", "a/b.json", true],
  ["a/*.json", "a/c/b.json", true],
  ["a/**/b.json", "a/c/d/b.json", true],
  ["a/**/b.json", "a/b.json", false],
  ["**/b.json", "b.json", false],
  ["*b.json", "a/b.json", true],
  ["a", "a/c/b.json", true],
  ["a/", "a/b.json", true],
  ["a", "ab/b.json", false],
  ["./a//b.json", "a/b.json", true],
  ["a/{b,c}.json", "a/b.json", false],
  ["a/[bc].json", "a/c.json", true],
  ["a/?.json", "a/c.json", true],
  [".", "x", true],
])("pattern %s and file %s: %s, as git ls-files lists", (pattern, path, want) => {
  expect(matchListed(pattern, path)).toBe(want);
});

test("a question about a repository goes over the wire with its secret, which is wrapped again on the other side", () => {
  const repo = { url: "https://git.example/a.git", username: "u", password: new Secret("look-secret-value") };
  const sent = encodeCall({
    call: "look",
    request: { repo, revision: "main", freshness: "normal", want: { directories: true } },
  });
  const got = decodeCall(sent);
  if (got.call !== "look") throw new Error("another call");
  expect(got.request.repo.password?.reveal()).toBe("look-secret-value");
  expect(JSON.stringify(got)).not.toContain("look-secret-value");
});
