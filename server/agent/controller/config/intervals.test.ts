import { hardWaitMs, readIntervals, USUAL, waitMs } from "./intervals.ts";

const EVERY = "timeout.reconciliation";
const JITTER = "timeout.reconciliation.jitter";
const HARD = "timeout.hard.reconciliation";
test.each<[string, Record<string, string>, object, number]>([
  ["nothing said", {}, USUAL, 0],
  ["seconds", { [EVERY]: "300s" }, { everyMs: 300_000, jitterMs: 60_000 }, 0],
  [
    "minutes and hours",
    { [EVERY]: "3m", [JITTER]: "1m30s", [HARD]: "12h" },
    { everyMs: 180_000, jitterMs: 90_000, hardMs: 43_200_000 },
    0,
  ],
  ["days", { [HARD]: "2d" }, { hardMs: 172_800_000 }, 0],
  ["more than a timer takes", { [EVERY]: "9999999h", [JITTER]: "9999999h", [HARD]: "999999d" }, {}, 0],
  ["off", { [EVERY]: "0", [JITTER]: "0s" }, { everyMs: 0, jitterMs: 0 }, 0],
  ["too often", { [EVERY]: "1ms" }, { everyMs: 1_000 }, 0],
  ["no unit", { [EVERY]: "180" }, { everyMs: 120_000 }, 1],
  ["less than nothing", { [EVERY]: "-3m" }, { everyMs: 120_000 }, 1],
  ["something else", { [EVERY]: "often", [HARD]: "never" }, USUAL, 2],
])("how often Git is asked: %s", (_name, data, want, problems) => {
  const read = readIntervals(data);
  expect(read.intervals).toMatchObject(want);
  expect(read.problems).toHaveLength(problems);
});

test("each has its own share of the jitter, the same at every start, and what is off has no next time", () => {
  const times = ["a", "b", "c"].map((name) => waitMs(name, USUAL)!);
  expect(new Set(times).size).toBe(3);
  for (const ms of times) expect(ms >= 120_000 && ms < 180_000).toBe(true);
  expect(waitMs("a", { ...USUAL, jitterMs: 0 })).toBe(120_000);
  expect([waitMs("a", { ...USUAL, everyMs: 0 }), hardWaitMs("a", USUAL)]).toEqual([undefined, undefined]);
  expect(hardWaitMs("a", { ...USUAL, hardMs: 5_000, jitterMs: 0 })).toBe(5_000);
});
