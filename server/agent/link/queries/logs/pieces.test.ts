import { cutAt, pieces } from "./pieces.ts";

const MOST = 100;
const written = (text: string) => JSON.stringify(text).length - 2;

test.each([
  ["nothing", "", 1],
  ["what fits", "a".repeat(MOST), 1],
  ["one character more", "a".repeat(MOST + 1), 2],
  ["control characters, each six in JSON", "\u0001".repeat(MOST), 7],
  ["quotes and backslashes", '"\\'.repeat(MOST), 4],
  ["colours of a terminal", "\u001b[31mred\u001b[0m ".repeat(50), undefined],
  ["characters of two units", `a${"😀".repeat(MOST)}`, 3],
  ["halves of such", "\ud83d".repeat(MOST), 7],
  ["characters of several bytes", "é漢".repeat(MOST), 2],
  ["what is short up to an escape at the end", `${"a".repeat(MOST - 1)}\u0000`, 2],
])(
  "a line comes in pieces that are bounded as they are written, and none ends within a character: %s",
  (_, text, count) => {
    const all = [...pieces(text, MOST)];
    expect(all.join("")).toBe(text);
    if (count !== undefined) expect(all).toHaveLength(count);
    for (const one of all) {
      expect(written(one)).toBeLessThanOrEqual(MOST);
      expect(/[\ud800-\udbff]$/.test(one) && /^[\udc00-\udfff]/.test(all[all.indexOf(one) + 1] ?? "")).toBe(false);
    }
    // None is smaller than it must be.
    for (const [i, one] of all.slice(0, -1).entries())
      expect(written(one + all[i + 1]!.slice(0, 2))).toBeGreaterThan(MOST);
  },
);

test("what has not ended is cut between characters", () => {
  expect([cutAt("ab😀", 3), cutAt("ab😀", 4), cutAt("abcd", 3)]).toEqual([2, 4, 3]);
});
