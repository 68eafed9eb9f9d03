import { parseVersion, parseVersionRange } from "./version-range.ts";

test.each([
  ["1", "1.0.0"],
  ["v1.2", "1.2.0"],
  ["v1.2.3-rc.1+b", "1.2.3-rc.1"],
  ["1.2-0", "1.2.0-0"],
  ["1.2.3.4", undefined],
  ["x", undefined],
  ["", undefined],
  ["1".repeat(300), undefined],
])("version %s is %s", (text, want) => {
  expect(parseVersion(text)?.version).toBe(want);
});

// Each as the Go library that the ecosystem uses answers.
test.each<[range: string, version: string, want: boolean]>([
  [">=1.2-0", "1.3.0", true],
  [">=1.2-0", "1.3.0-rc.1", true],
  [">=1.2", "1.3.0-rc.1", false],
  [">=1.2, <2-0", "1.3.0-rc.1", true],
  [">=1.2 || <1-0", "1.3.0-rc.1", false],
  [">1", "1.5.0", false],
  [">1", "2.0.0", true],
  [">1.2", "1.2.9", false],
  [">1.2", "1.3.0", true],
  ["<=1", "1.9.9", true],
  ["<=1.2", "1.2.9", true],
  ["<=1.2", "1.3.0", false],
  ["<1", "1.0.0", false],
  ["!=1", "1.4.0", false],
  ["!=1.2", "1.2.4", false],
  ["!=1.2.3", "1.2.4", true],
  ["1", "1.4.0", true],
  ["1.x", "2.0.0", false],
  ["*", "9.9.9", true],
  ["*", "1.0.0-rc.1", false],
  ["", "3.0.0", true],
  ["~1", "1.9.0", true],
  ["~1.2", "1.3.0", false],
  ["~1.2.3", "1.2.9", true],
  ["~0.0.0", "5.0.0", true],
  ["^0.2.3", "0.2.9", true],
  ["^0.2.3", "0.3.0", false],
  ["^0.0.3", "0.0.4", false],
  ["^0", "0.9.0", true],
  ["^0.0", "0.0.9", true],
  ["^*", "1.0.0", false],
  ["1.2 - 2", "2.5.0", true],
  ["1.2.0 - 1.4.0", "1.4.1", false],
  ["=>1.2", "1.2.0", true],
  ["= 1.2.3", "1.2.3+build", true],
  [">= 1.2 , < 1.4", "1.3.0", true],
])("%j has %s: %s", (range, version, want) => {
  expect(parseVersionRange(range)?.(parseVersion(version)!)).toBe(want);
});

test.each(["main", ">=", "1.2.3.4", ">=1 &&", "1,,2", "=1.2.3 x y", ">=1.2-"])("%j is no range", (range) => {
  expect(parseVersionRange(range)).toBeUndefined();
});

test("a long text with many signs is answered at once", () => {
  expect(parseVersionRange(">".repeat(250))).toBeUndefined();
  expect(parseVersionRange(`${"1 ".repeat(120)}-`)).toBeUndefined();
});
