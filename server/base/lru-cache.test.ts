import { LruCache } from "./lru-cache.ts";

test("of too much the one goes that was asked for longest ago, and never the newest", () => {
  const kept = new LruCache<number>({ most: 10, ms: 1_000 });
  kept.set("a", 1, 4);
  kept.set("b", 2, 4);
  expect(kept.get("a")).toBe(1);
  kept.set("c", 3, 4);
  expect([kept.get("a"), kept.get("b"), kept.get("c")]).toEqual([1, undefined, 3]);
  kept.set("large", 4, 100);
  expect([kept.size, kept.get("large")]).toEqual([1, 4]);
  kept.set("d", 5, 1);
  expect([kept.size, kept.get("d")]).toEqual([1, 5]);
});

test("what nobody asked for in a while goes when something comes", () => {
  let now = 0;
  const kept = new LruCache<string>({ most: 1_000, ms: 100, now: () => now });
  kept.set("a", "a");
  kept.set("b", "b");
  now = 90;
  kept.get("b");
  now = 110;
  kept.set("c", "c");
  expect([kept.get("a"), kept.get("b"), kept.get("c")]).toEqual([undefined, "b", "c"]);
});

test("the same key again counts once", () => {
  const kept = new LruCache<number>({ most: 5, ms: 1_000 });
  for (let i = 0; i < 10; i++) kept.set("a", i, 4);
  kept.set("b", 0, 1);
  expect([kept.get("a"), kept.size]).toEqual([9, 2]);
});
