import { looksLikeReference } from "../../openapi/rules/tasks/references.ts";
import { errorsBesidesReferences, findReferences, parseReferences, replaceReferences } from "./reference.ts";

const reference = (source: string, path: string, key?: string) => ({
  source,
  path,
  key,
  text: `\${secret:${source}/${path}${key ? `#${key}` : ""}}`,
});

test.each<[string, string, unknown]>([
  ["nothing", "", [""]],
  ["plain text", "a ${b} $c", ["a ${b} $c"]],
  ["one", "${secret:env/NAME}", [reference("env", "NAME")]],
  ["with a key", "${secret:prod-vault/kv/app/db#pass word}", [reference("prod-vault", "kv/app/db", "pass word")]],
  [
    "an ARN",
    "${secret:aws/arn:aws:secretsmanager:eu:1:secret:a-Bc#k}",
    [reference("aws", "arn:aws:secretsmanager:eu:1:secret:a-Bc", "k")],
  ],
  ["in the middle", "Bearer ${secret:env/A}!", ["Bearer ", reference("env", "A"), "!"]],
  ["two", "${secret:env/A}:${secret:env/B}", [reference("env", "A"), ":", reference("env", "B")]],
  ["escaped", "$${secret:env/A}", ["${secret:env/A}"]],
  ["escaped beside one", "$${secret:x ${secret:env/A}", ["${secret:x ", reference("env", "A")]],
  ["other dollars", "$$ $1 $${a}", ["$$ $1 $${a}"]],
])("reads %s", (_name, text, want) => expect(parseReferences(text)).toEqual({ kind: "done", value: want }));

test.each([
  "${secret:",
  "${secret:}",
  "${secret:env}",
  "${secret:env/}",
  "${secret:/A}",
  "${secret:Env/A}",
  "${secret:-a/A}",
  "${secret:env/A#}",
  "${secret:env/A\n}",
  "${secret:env/A\0}",
  "${secret:env/${secret:env/A}}",
  `\${secret:env/${"a".repeat(600)}}`,
  `\${secret:${"a".repeat(64)}/a}`,
  `\${secret:env/${"a".repeat(2_000_000)}`,
])("refuses what is not a whole reference: %.60j", (text) => {
  expect(parseReferences(text)).toMatchObject({
    kind: "stop",
    reason: "SecretRefused",
    message: expect.stringMatching(/SOURCE\/PATH/),
  });
});

test("references are found by their pointers, in values only, and put in once", () => {
  const value = {
    env: { A: "${secret:env/A}", "b/c": ["x", "y ${secret:file/b#k}"] },
    "${secret:env/N}": 1,
    s: "$${secret:no}",
    n: null,
  };
  expect(findReferences(value).map(({ pointer }) => pointer)).toEqual(["/env/A", "/env/b~1c/1", "/s"]);
  // A value that looks like a reference is not one.
  expect(replaceReferences(value, ({ path }) => `\${secret:env/${path}}`)).toEqual({
    env: { A: "${secret:env/A}", "b/c": ["x", "y ${secret:env/b}"] },
    "${secret:env/N}": 1,
    s: "${secret:no}",
    n: null,
  });
});

test("errors about texts that only the worker knows are left to it, others are not", () => {
  const errors = [{ instancePath: "/a" }, { instancePath: "/b" }, { instancePath: "/c" }, { instancePath: "" }];
  const value = { a: "${secret:env/A}", b: "wrong", c: "$${secret:env/A}" };
  expect(errorsBesidesReferences(value, errors).map(({ instancePath }) => instancePath)).toEqual(["/b", "/c", ""]);
  expect(["${secret:env/A}", "$${secret:env/A}", "${secret:"].map(looksLikeReference)).toEqual([true, false, true]);
});
