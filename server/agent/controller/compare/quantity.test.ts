import { billionths } from "./quantity.ts";

test.each([
  ["0.1", "100m"],
  ["1", "1000m"],
  [1, "1"],
  [0.5, "500m"],
  ["1024Mi", "1Gi"],
  ["0.5Gi", "512Mi"],
  ["1e3", "1k"],
  ["1.5e2", "150"],
  ["-1", "-1000m"],
  [".5", "500m"],
  ["100n", "0.1u"],
])("%s is the quantity %s", (a, b) => {
  expect(billionths(a)).toBe(billionths(b));
  expect(billionths(a)).toBeDefined();
});

test.each([
  ["1", "1m"],
  ["1Mi", "1M"],
  ["1k", "1Ki"],
])("%s is another quantity than %s", (a, b) => {
  expect(billionths(a)).not.toBe(billionths(b));
});

test.each(["", "x", "1 Gi", "1ki", "1e999", "0.0000000001", "1".repeat(50), null, {}, true])(
  "%j is not a quantity",
  (value) => {
    expect(billionths(value)).toBeUndefined();
  },
);
