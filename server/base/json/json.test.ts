import { parseJson } from "./json.ts";

const limits = { depth: 4, members: 6 };
const cases: [string, { given: string | Buffer; want: object }][] = [
  ["a value", { given: '{"a":[1,"x",null]}', want: { ok: true, value: { a: [1, "x", null] } } }],
  ["braces and commas in strings do not count", { given: '["{{{{{{[[[[[,,,,,,,,\\""]', want: { ok: true } }],
  ["too deep", { given: "[[[[[]]]]]", want: { reason: "bounds" } }],
  ["too many members", { given: "[1,2,3,4,5,6,7,8]", want: { reason: "bounds" } }],
  ["cut off", { given: '{"a":', want: { reason: "syntax" } }],
  ["trailing text", { given: "{}x", want: { reason: "syntax" } }],
  ["not UTF-8", { given: Buffer.from([0x22, 0xff, 0x22]), want: { reason: "syntax" } }],
  ["NUL in a text", { given: '{"a":{"b/c":"x\\u0000"}}', want: { reason: "text", pointer: "/a/b~1c" } }],
  ["half a character", { given: '["\\ud800"]', want: { reason: "text", pointer: "/0" } }],
  ["a whole character", { given: '["\\ud83d\\ude00"]', want: { ok: true } }],
  ["__proto__", { given: '{"a":{"__proto__":1}}', want: { reason: "text", pointer: "/a" } }],
  ["a number beyond a double", { given: "[1e999]", want: { reason: "text", pointer: "/0" } }],
  ["nothing", { given: "", want: { reason: "syntax" } }],
];
test.each(cases)("%s", (_, { given, want }) => {
  expect(parseJson(typeof given === "string" ? Buffer.from(given) : given, limits)).toMatchObject(want);
});
test("a detail never quotes the text", () => {
  const got = parseJson(Buffer.from('{"password": canary}'), limits);
  expect(JSON.stringify(got)).not.toContain("canary");
});

test("numbers that would become other numbers are refused where they must be exact, and only there", () => {
  const text = Buffer.from('{"a":9007199254740993}');
  expect(parseJson(text, { ...limits, exact: true })).toMatchObject({ ok: false, reason: "text", pointer: "/a" });
  expect(parseJson(text, limits)).toMatchObject({ ok: true });
});
