import { withoutNulls } from "./nulls.ts";

test("what has no nulls is not copied", () => {
  const value = { list: [{ a: 1 }, "b", 0, []], map: {}, no: false };
  expect(withoutNulls(value)).toBe(value);
});

test("nulls are left out, the rest stays", () => {
  const given = { keep: { deep: null, kept: 1 }, gone: null, list: [null, { a: null }, [null], 2] };
  expect(withoutNulls(given)).toEqual({ keep: { kept: 1 }, list: [{}, [], 2] });
  expect(given.gone).toBeNull();
  expect(withoutNulls(null)).toBeUndefined();
});
