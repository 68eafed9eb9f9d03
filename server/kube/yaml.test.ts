import { parseJson, parseManifests } from "./yaml.ts";

const cm = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
const parse = (text: string) => parseManifests(text, "f.yaml");

test.each([
  ["two documents", `${cm}---\n${cm}`, 2],
  ["empty documents", `---\n# nothing\n---\n${cm}---\n`, 1],
  [
    "a list",
    `apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}\n`,
    2,
  ],
  ["JSON", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`, 1],
  ["a list without items", "apiVersion: v1\nkind: ConfigMapList\nitems:\n", 0],
  [
    "a list of another name",
    "apiVersion: v1\nkind: Batch\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n",
    1,
  ],
  [
    "an object with a field called items",
    "apiVersion: v1\nkind: Shelf\nmetadata: {name: a}\nitems:\nspec: {size: 1}\n",
    1,
  ],
  [
    "a text in quotes whose lines begin further left",
    `${cm}data:\n  text: "first\nsecond\n  third"\n  other: 'a\nb'\n---\n${cm}`,
    2,
  ],
  ["brackets that begin further left", `${cm}list: [ "a",\n"b" ]\nmap: {a: [1,\n2\n], b: 3\n}\n---\n${cm}`, 2],
  ["nothing", "", 0],
])("%s", (_, text, count) => {
  const got = parse(text);
  expect(got.kind === "done" && got.value).toHaveLength(count);
});
test("values mean what Kubernetes reads in them", () => {
  const got = parse(
    `${cm}v: {mode: 0644, newer: 0o644, on: yes, time: 12:30:45, date: 2026-01-01, number: "5", big: 1_000, nothing: ~}\n`,
  );
  expect(got.kind === "done" && got.value[0]!.v).toEqual({
    mode: 420,
    newer: 420,
    true: true,
    time: "12:30:45",
    date: "2026-01-01",
    number: "5",
    big: 1000,
    nothing: null,
  });
});
test("what has no digit where a number has one is a text", () => {
  const got = parse(
    `${cm}v: {path: ., commit: e5, more: .e5, hex: 0x_, great: 1e400, parts: 1.2.3, real: [.5, 1., 1e3, 0X1F], bin: !!binary aGk=}\n`,
  );
  expect(got.kind === "done" && got.value[0]!.v).toEqual({
    path: ".",
    commit: "e5",
    more: ".e5",
    hex: "0x_",
    great: "1e400",
    parts: "1.2.3",
    real: [0.5, 1, 1000, 31],
    bin: "hi",
  });
  expect(parse(`${cm}v: .inf\n`)).toMatchObject({ kind: "stop", message: expect.stringContaining("no place in JSON") });
});
test.each([
  ["9007199254740991", 9007199254740991],
  ["-9007199254740992", -9007199254740992],
  ["1152921504606847000", 1152921504606847000],
  ["9007199254740993", undefined],
  ["-1152921504606846976", undefined],
  ["0x7fffffffffffffff", undefined],
  ["18446744073709551615", 2 ** 64],
])("a number keeps its digits, or is refused: %s", (digits, want) => {
  const read = (text: string, file: string) =>
    file.endsWith("json") ? parseJson(text, file) : parseManifests(text, file);
  const texts: [string, string][] = [["f.yaml", `${cm}size: ${digits}\ntext: "${digits}"\n`]];
  if (!digits.includes("x"))
    texts.push([
      "f.json",
      `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"size":${digits},"text":"\\"${digits}"}`,
    ]);
  for (const [file, text] of texts) {
    const got = read(text, file);
    if (want === undefined)
      expect(got).toMatchObject({ kind: "stop", message: expect.stringMatching(/^f\.(yaml|json): .*has more digits/) });
    else expect(got).toMatchObject({ kind: "done", value: [{ size: want }] });
  }
});

test("lines of a text in quotes are folded, wherever they begin", () => {
  const got = parse(`${cm}data:\n  text: "first\nsecond\n\n third"\n  other: x\n`);
  expect(got.kind === "done" && got.value[0]!.data).toEqual({ text: "first second\nthird", other: "x" });
});
test("anchors and merge keys work", () => {
  const got = parse(`${cm}base: &b {x: 1}\nother: {<<: *b, z: 2}\n`);
  expect(got.kind === "done" && got.value[0]!.other).toEqual({ x: 1, z: 2 });
});
test.each([
  [
    "an alias bomb",
    `${cm}a: &a [1,1,1,1,1,1,1,1,1]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c,*c,*c,*c]\n`,
    /alias/i,
  ],
  ["deep nesting", `${cm}a: ${"[".repeat(100_000)}`, /./],
  [
    "maps as keys of maps as keys",
    `${cm}a:\n  ${"? ".repeat(150)}`,
    /^f\.yaml: line \d+: a map or a list is not a key/,
  ],
  ["what a template would fill in", `${cm}a: {{ name }}\n`, /is a template left in it/],
  ["no kind", "apiVersion: v1\nmetadata: {name: a}\n", /f\.yaml: an object has no kind/],
  ["no name", "apiVersion: v1\nkind: ConfigMap\n", /ConfigMap has no metadata.name/],
  ["a text", "just words\n", /not an object/],
  ["a broken map", `${cm}a: {b: c\n`, /^f\.yaml: line \d+/],
])("%s is refused by name", (_, text, want) => {
  const got = parse(text);
  expect(got).toMatchObject({ kind: "stop", reason: "ManifestInvalid", message: expect.stringMatching(want) });
});
