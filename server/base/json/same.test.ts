import { canonical } from "./canonical.ts";
import { same } from "./same.ts";

const values: unknown[] = [
  null,
  0,
  1,
  "",
  "1",
  true,
  [],
  {},
  [1],
  [1, 2],
  [2, 1],
  [undefined],
  [null],
  { a: 1 },
  { a: 1, b: undefined },
  { b: 2, a: 1 },
  { a: 1, b: 2 },
  { a: { b: [{ c: 1 }] } },
  { a: { b: [{ c: 1, d: undefined }] } },
  { a: null },
  { 0: 1 },
];

test("two values are the same exactly when their canonical JSON is", () => {
  for (const a of values)
    for (const b of values) expect([a, b, same(a, b)]).toEqual([a, b, canonical(a) === canonical(b)]);
});
