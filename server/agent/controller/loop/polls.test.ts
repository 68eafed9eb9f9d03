import { jest } from "@jest/globals";
import type { Application } from "../application.ts";
import { Polls } from "./polls.ts";

const HOUR_MS = 3_600_000;
const app = { spec: { source: { repoURL: "https://git.example/a" } } } as unknown as Application;

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

test("a repository is looked at by the clock, by another one when that changes, and never while there is none", async () => {
  let every: number | undefined = 60_000;
  let looks = 0;
  const polls = new Polls(
    async () => void looks++,
    () => every,
  );
  polls.seen("shop", app);
  await jest.advanceTimersByTimeAsync(2.5 * 60_000);
  expect(looks).toBe(2);
  every = undefined;
  polls.rearm();
  await jest.advanceTimersByTimeAsync(100 * HOUR_MS);
  expect(looks).toBe(2);
  // Who is told of something looks all the same.
  const told = polls.changed("https://git.example/a");
  await jest.advanceTimersByTimeAsync(10);
  await told;
  expect(looks).toBe(3);
  // Longer than a timer can be.
  every = 1_000 * HOUR_MS;
  polls.rearm();
  await jest.advanceTimersByTimeAsync(500 * HOUR_MS);
  expect(looks).toBe(3);
  await jest.advanceTimersByTimeAsync(100 * HOUR_MS);
  expect(looks).toBe(4);
  polls.stop();
});
