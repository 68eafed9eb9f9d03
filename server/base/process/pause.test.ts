import { pause } from "./pause.ts";
import { waitingFor } from "./signal.ts";

test("a pause ends by the clock, and leaves nothing at a signal that lives on", async () => {
  const ending = new AbortController();
  expect(await pause(1, ending.signal)).toBe(true);
  expect(await pause(1)).toBe(true);
  expect(waitingFor(ending.signal)).toBe(0);
});

test("a program that is told to end waits for nothing more", async () => {
  const ending = new AbortController();
  const waiting = pause(600_000, ending.signal);
  ending.abort();
  expect([await waiting, await pause(600_000, ending.signal)]).toEqual([false, false]);
});
