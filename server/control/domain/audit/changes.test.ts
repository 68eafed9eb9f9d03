import { changesBetween } from "./changes.ts";

test.each([
  [{ a: 1, b: { c: "x" } }, { b: { c: "x" }, a: 1 }, []],
  [{ a: 1 }, { a: 2 }, [{ path: "/a", before: 1, after: 2 }]],
  [{ s: { path: "x", rev: "main" } }, { s: { path: "x" } }, [{ path: "/s/rev", before: "main" }]],
  [{ l: [1, 2] }, { l: [2, 1] }, [{ path: "/l", before: [1, 2], after: [2, 1] }]],
  [{ m: { "a/b": "1" } }, { m: { "a/b": "2" } }, [{ path: "/m/a~1b", before: "1", after: "2" }]],
  [undefined, { a: { b: true } }, [{ path: "/a/b", after: true }]],
  [{ a: { b: true } }, undefined, [{ path: "/a/b", before: true }]],
  [{ a: null }, { a: { b: 1 } }, [{ path: "/a", before: null, after: { b: 1 } }]],
])("%j → %j", (before, after, want) => expect(changesBetween(before, after)).toEqual(want));

test("a line stays small: long values are cut, and what is too much is counted", () => {
  const many = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`k${i}`, i]));
  const kept = changesBetween({}, many);
  expect([kept.length, kept.at(-1)]).toEqual([101, { path: "", after: "400 more fields" }]);
  const [long] = changesBetween({}, { text: "x".repeat(5_000) });
  expect(String(long!.after)).toMatch(/^x{1024}… \(5000 characters\)$/);
  const fat = Object.fromEntries(Array.from({ length: 90 }, (_, i) => [`k${i}`, "y".repeat(1_000)]));
  expect(JSON.stringify(changesBetween({}, fat)).length).toBeLessThan(17_000);
});
