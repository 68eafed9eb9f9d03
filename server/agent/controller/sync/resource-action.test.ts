import { mergePatch } from "./resource-action.ts";

test.each<[unknown, unknown, unknown]>([
  [{ a: 1 }, { a: 1 }, undefined],
  [{ a: 1, b: 2 }, { a: 2, b: 2 }, { a: 2 }],
  [{ a: { b: 1, c: 2 } }, { a: { b: 1 } }, { a: { c: null } }],
  [{ a: [1, 2] }, { a: [1] }, { a: [1] }],
  [{}, { a: { b: 1 } }, { a: { b: 1 } }],
  [{ a: undefined }, {}, undefined],
])("what makes of %j %j is %j", (before, after, want) => expect(mergePatch(before, after)).toEqual(want));
