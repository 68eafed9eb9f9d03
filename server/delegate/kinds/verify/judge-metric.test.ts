import { judgeMetric, type Metric, weigh } from "./judge-metric.ts";

const metric = (more: Partial<Metric> = {}): Metric => ({ name: "latency", canary: "q", ...more });
const around = (middle: number, count = 20) =>
  Array.from({ length: count }, (_, i) => middle + ((i * 7) % 10) / 10 - 0.45);

test.each<[string, Partial<Metric>, number[], number[], string, RegExp]>([
  ["the same", {}, around(10), around(10), "pass", /no sure difference/],
  ["surely higher and by much", {}, around(20), around(10), "fail", /higher: median/],
  ["surely higher, but by little", {}, around(10.5), around(10), "pass", /tolerance/],
  ["lower is not harm where higher is", {}, around(5), around(10), "pass", /no sure/],
  ["lower is harm where it is named", { worse: "lower" }, around(5), around(10), "fail", /lower/],
  ["either way", { worse: "either" }, around(5), around(10), "fail", /different/],
  ["too few samples", {}, [1, 2], around(10), "noData", /2 samples/],
  ["above the maximum, whatever the baseline", { maximum: 15 }, [...around(10), 16], [], "fail", /16 is above/],
  ["below the minimum", { minimum: 1 }, [0.5], [], "fail", /below/],
  ["a baseline of zeros: any sure rise counts", {}, around(3), Array(20).fill(0), "fail", /higher/],
  [
    "higher, but of too little confidence",
    { confidence: 0.99, minSamples: 3 },
    [12, 13, 14],
    [10, 11, 9],
    "pass",
    /no sure/,
  ],
])("%s", (_name, more, canary, baseline, verdict, why) => {
  const got = judgeMetric(metric(more), canary, baseline);
  expect(got.verdict).toBe(verdict);
  expect(got.why).toMatch(why);
});

test("the score is the weight that passes; what is critical decides alone", () => {
  const of = (verdict: "pass" | "fail" | "noData") => ({ ...judgeMetric(metric(), [], []), verdict });
  const metrics = [metric({ name: "a", weight: 3 }), metric({ name: "b" })];
  expect(weigh(metrics, [of("pass"), of("fail")], 75)).toEqual({ pass: true, score: 75, failed: ["b"] });
  expect(weigh([metrics[0]!, { ...metrics[1]!, critical: true }], [of("pass"), of("fail")], 75).pass).toBe(false);
  expect(weigh([metric({ onNoData: "pass" })], [of("noData")], 100)).toEqual({ pass: true, score: 100, failed: [] });
});
