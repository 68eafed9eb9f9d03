import { beginning } from "./beginning.ts";

test.each([
  ["short", 10, "short"],
  ["longer than this", 6, "longer"],
  ["ab😀", 3, "ab"],
  ["ab😀", 4, "ab😀"],
  ["😀", 1, ""],
  ["", 5, ""],
])("%j cut at %d characters is %j", (text, longest, want) => {
  expect(beginning(text, longest)).toBe(want);
});
