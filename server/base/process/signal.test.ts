import { getEventListeners } from "node:events";
import { follow, onAbort, waitingFor } from "./signal.ts";

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
  expect(waitingFor(all.signal)).toBe(50);
  // However many wait, Node sees one listener and has no leak to warn of.
  expect(getEventListeners(all.signal, "abort")).toHaveLength(1);
  for (const { leave } of leaving) leave();
  expect(waitingFor(all.signal)).toBe(0);
  all.abort();
  expect(leaving.some(({ own }) => own.signal.aborted)).toBe(false);
});

test("each is called once, with what it adds while others are called", () => {
  const all = new AbortController();
  const called: string[] = [];
  onAbort(all.signal, () => {
    called.push("first");
    onAbort(all.signal, () => called.push("late"));
  });
  onAbort(all.signal, () => called.push("second"))();
  onAbort(all.signal, () => called.push("third"));
  all.abort();
  expect(called).toEqual(["first", "late", "third"]);
});
