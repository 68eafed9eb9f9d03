import { mannWhitney } from "./mann-whitney.ts";

// Wanted values: the example of the method's usual reference implementation, and counts done by hand.
test.each<[string, number[], number[], { u: number; higher: number; lower: number; exact: boolean }]>([
  [
    "five against four",
    [19, 22, 16, 29, 24],
    [20, 11, 17, 12],
    { u: 17, higher: 7 / 126, lower: 122 / 126, exact: true },
  ],
  ["all above", [4, 5, 6], [1, 2, 3], { u: 9, higher: 1 / 20, lower: 1, exact: true }],
  ["all below", [1, 2, 3], [4, 5, 6], { u: 0, higher: 1, lower: 1 / 20, exact: true }],
  ["one each", [2], [1], { u: 1, higher: 0.5, lower: 1, exact: true }],
  ["all equal", [1, 1, 1], [1, 1, 1], { u: 4.5, higher: 1, lower: 1, exact: false }],
])("%s", (_name, a, b, want) => {
  const got = mannWhitney(a, b);
  expect(got.u).toBe(want.u);
  expect(got.exact).toBe(want.exact);
  expect(got.pHigher).toBeCloseTo(want.higher, 10);
  expect(got.pLower).toBeCloseTo(want.lower, 10);
});

test("with ties the approximation is corrected for them and for continuity", () => {
  // 19, 22, 16, 29, 24 against 20, 11, 17, 12 with one tie: rank sum 30.5, variance 16.5278 - 0.1389.
  const got = mannWhitney([19, 22, 17, 29, 24], [20, 11, 17, 12]);
  expect(got).toMatchObject({ u: 17.5, exact: false });
  expect(got.z).toBeCloseTo((17.5 - 10) / Math.sqrt((20 / 12) * (10 - 6 / 72)), 10);
  expect(got.pHigher).toBeCloseTo(0.0426, 3);
});

test("counted and approximated probabilities meet where both apply", () => {
  const a = Array.from({ length: 20 }, (_, i) => i * 2 + 7.5);
  const b = Array.from({ length: 20 }, (_, i) => i * 2);
  const few = mannWhitney(a, b);
  const many = mannWhitney([...a, 1_000.5], [...b, 1_000]);
  expect(few.exact).toBe(true);
  expect(many.exact).toBe(false);
  expect(Math.abs(few.pHigher - many.pHigher)).toBeLessThan(0.02);
});
