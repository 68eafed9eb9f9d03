import { editValues, parsePath } from "./edit-values.ts";

test.each<[string, (string | number)[] | undefined]>([
  ["a", ["a"]],
  ["image.tag", ["image", "tag"]],
  ["list[0].name", ["list", 0, "name"]],
  ["[1]", [1]],
  ['a["b.c"].d', ["a", "b.c", "d"]],
  ["a.0", ["a", "0"]],
  ["", undefined],
  ["a.", undefined],
  ["a..b", undefined],
  ["a[x]", undefined],
  ["a]b", undefined],
  ['a["b', undefined],
])("the path %j", (path, want) => {
  expect(parsePath(path)).toEqual(want);
});

const values = `# the release
image:
  tag: v1 # by the pipeline
  name: web
list:
  - name: a
    size: 1
`;

test.each<[string, string, string, Record<string, unknown>, string | RegExp]>([
  ["comments and order stay", "v.yaml", values, { "image.tag": "v2" }, values.replace("v1", "v2")],
  ["an element of a list", "v.yaml", values, { "list[0].size": 3 }, values.replace("size: 1", "size: 3")],
  ["maps on the way are made", "v.yaml", "a: 1\n", { "b.c": true }, "a: 1\nb:\n  c: true\n"],
  ["an empty file", "v.yaml", "", { a: 1 }, /a: 1/],
  ["nothing differs: not a byte", "v.yaml", "a:   1\n", { a: 1 }, "a:   1\n"],
  ["an empty string is passed over", "v.yaml", values, { "image.tag": "" }, values],
  ["text that looks like a number stays text", "v.yaml", "a: x\n", { a: "1.10" }, 'a: "1.10"\n'],
  [
    "JSON keeps its indent",
    "v.json",
    '{\n    "a": { "b": 1 }\n}\n',
    { "a.b": 2 },
    '{\n    "a": {\n        "b": 2\n    }\n}\n',
  ],
])("%s", (_name, file, text, set, want) => {
  const got = editValues(file, text, set);
  if (typeof want === "string") expect(got).toEqual({ kind: "done", value: want });
  else expect(got).toMatchObject({ kind: "done", value: expect.stringMatching(want) });
});

test.each<[string, string, Record<string, unknown>, string]>([
  ["no YAML", "a: [", { a: 1 }, "FileInvalid"],
  ["two documents", "a: 1\n---\nb: 1\n", { a: 1 }, "FileInvalid"],
  ["a single value", "text\n", { a: 1 }, "FileInvalid"],
  ["an element that is not there", values, { "list[1].size": 1 }, "PathInvalid"],
  ["no path", values, { "a..b": 1 }, "PathInvalid"],
  ["a member of a text", values, { "image.tag.x": 1 }, "PathInvalid"],
])("refused: %s", (_name, text, set, reason) => {
  expect(editValues("v.yaml", text, set)).toMatchObject({ kind: "stop", reason });
});
