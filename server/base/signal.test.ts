import { getEventListeners } from "node:events";
import { follow } from "./signal.ts";

test("one ends with the other, with its reason", () => {
  const [all, own] = [new AbortController(), new AbortController()];
  follow(own, all.signal);
  all.abort("over");
  expect([own.signal.aborted, own.signal.reason]).toEqual([true, "over"]);
  const late = new AbortController();
  follow(late, all.signal);
  expect(late.signal.aborted).toBe(true);
});

test("who leaves is not ended, and leaves nothing behind", () => {
  const all = new AbortController();
  const leaving = Array.from({ length: 50 }, () => {
    const own = new AbortController();
    return { own, leave: follow(own, all.signal) };
  });
  expect(getEventListeners(all.signal, "abort")).toHaveLength(50);
  for (const { leave } of leaving) leave();
  expect(getEventListeners(all.signal, "abort")).toHaveLength(0);
  all.abort();
  expect(leaving.some(({ own }) => own.signal.aborted)).toBe(false);
});
