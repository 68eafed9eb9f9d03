import { Lines } from "./lines.ts";

const bytes = (text: string) => Buffer.from(text);

test.each<[string, Buffer[], string[]]>([
  ["nothing", [], []],
  ["one line", [bytes("a\n")], ["a"]],
  ["a line without its end", [bytes("a\nb")], ["a", "b"]],
  ["empty lines", [bytes("\n\na\n")], ["", "", "a"]],
  ["a line in parts", [bytes("he"), bytes("llo\nwor"), bytes("ld\n")], ["hello", "world"]],
  ["carriage returns", [bytes("a\r\nb\rc\r\n")], ["a", "b\rc"]],
  ["a character cut in two", [bytes("ä").subarray(0, 1), bytes("ä").subarray(1), bytes("\n")], ["ä"]],
  ["bytes that are no UTF-8", [Buffer.from([0xff, 0x0a])], ["\ufffd"]],
  [
    "a line of 150,000 characters",
    [bytes("x".repeat(150_000))],
    ["x".repeat(65_536), "x".repeat(65_536), "x".repeat(18_928)],
  ],
])("lines: %s", (_name, chunks, want) => {
  const lines = new Lines();
  expect([...chunks.flatMap((chunk) => lines.add(chunk)), ...lines.end()]).toEqual(want);
});
