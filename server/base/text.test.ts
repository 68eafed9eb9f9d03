import { colours, plain, printable, useColour } from "./colour.ts";
import { showAge, showDuration, tryParseDuration } from "./lang/duration.ts";
import { hunks, lineDiff } from "./lang/line-diff.ts";
import { columns, cut, pairs, table } from "./table.ts";

const red = colours(true).red;

test.each([
  ["90s", 90_000],
  ["1h30m", 5_400_000],
  ["250ms", 250],
  ["", undefined],
  ["5", undefined],
  ["-5s", undefined],
  ["5 s", undefined],
])("tryParseDuration %j", (given, want) => expect(tryParseDuration(given)).toBe(want));

test.each([
  [-5, "0s"],
  [420, "0.4s"],
  [9_999, "9.9s"],
  [12_300, "12s"],
  [185_000, "3m05s"],
  [7_800_000, "2h10m"],
  [500_000_000, "5d"],
])("showDuration %j", (given, want) => expect(showDuration(given)).toBe(want));

test.each([
  [undefined, "-"],
  ["nonsense", "-"],
  ["2026-01-01T00:00:00Z", "30s"],
  ["2025-12-31T23:50:00Z", "10m"],
  ["2025-12-31T20:00:30Z", "4h"],
  ["2025-12-20T00:00:30Z", "12d"],
])("showAge %j", (given, want) => expect(showAge(given, Date.parse("2026-01-01T00:00:30Z"))).toBe(want));

test.each([
  [{}, true, true],
  [{}, false, false],
  [{ NO_COLOR: "1" }, true, false],
  [{ NO_COLOR: "1", FORCE_COLOR: "1" }, true, false],
  [{ FORCE_COLOR: "1" }, false, true],
  [{ TERM: "dumb" }, true, false],
])("useColour %j on a terminal=%j", (env, tty, want) => expect(useColour(env, tty)).toBe(want));

test("a table is as wide as its text, colours not counted", () => {
  expect(
    plain(
      table(
        ["ID", "STATE"],
        [
          ["a", red("Degraded")],
          ["longer", "ok"],
        ],
      ),
    ),
  ).toBe("ID      STATE\na       Degraded\nlonger  ok");
});
test("pairs stand in one column and wrap under it", () => {
  expect(
    pairs([
      ["id", "a"],
      ["message", "one\ntwo"],
    ]),
  ).toBe("id:       a\nmessage:  one\n          two");
});
test("cut keeps colours whole and closes them", () => {
  expect(cut("hello", 5)).toBe("hello");
  expect(cut("hello!", 5)).toBe("hell…");
  const got = cut(`ab${red("cdefgh")}`, 5);
  expect(columns(got)).toBe(5);
  expect(got.endsWith("\u001b[0m")).toBe(true);
});
test("printable shows what would command the terminal", () => {
  expect(printable("a\u001b[31mb\u0007\n\tc\r")).toBe("a\\x1b[31mb\\x07\n\tc\\x0d");
});
test.each([
  ["a\nb\n", "a\nb\n", ""],
  ["a\nb\nc\n", "a\nx\nc\n", " a|-b|+x| c"],
  ["", "a\n", "+a"],
  ["a\n", "", "-a"],
])("lineDiff %j %j", (a, b, want) => {
  const got = lineDiff(a, b);
  expect(got.some((l) => l.sign !== " ") ? got.map((l) => l.sign + l.text).join("|") : "").toBe(want);
});
test("hunks leaves out what is far from a change", () => {
  const text = Array.from({ length: 20 }, (_, i) => `${i}`).join("\n");
  const got = hunks(lineDiff(text, text.replace("10", "ten")), 1).map((l) => l.sign + l.text);
  expect(got).toEqual([" …", " 9", "-10", "+ten", " 11", " …"]);
});
