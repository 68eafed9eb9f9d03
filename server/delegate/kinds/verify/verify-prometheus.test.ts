import { jest } from "@jest/globals";
import { canHave } from "../../../../test/cluster/tools.ts";
import { every, type Prometheus, startPrometheus } from "../../../../test/servers/prometheus.ts";
import { type KindBench, kindBench } from "../../testing/kind.ts";
import { temporaryFolder } from "../../testing/temporary.ts";
import { verifyPrometheus } from "./verify-prometheus.ts";

const possible = canHave("prometheus") ? describe : describe.skip;
jest.setTimeout(60_000);

possible("a canary, judged by a real Prometheus (skipped without Go)", () => {
  const dir = temporaryFolder();
  const now = Date.now();
  const start = now - 600_000;
  let prometheus: Prometheus;
  let bench: KindBench;
  beforeAll(async () => {
    prometheus = await startPrometheus({ users: { robot: "let-me-in-77" } });
    bench = kindBench(dir);
    // Waves of a few hundredths around a middle, so that two series are alike without being equal.
    const series = (track: string, middle: number, from = start, to = now) => ({
      metric: "latency_seconds",
      labels: { track },
      samples: every(15_000, from, to, (i) => middle + ((i * 7) % 10) / 500 + (track === "canary" ? 0.0001 : 0)),
    });
    await prometheus.load([
      series("stable", 0.2),
      series("canary", 0.2),
      series("slow", 0.5),
      { metric: "yesterday", samples: every(15_000, start - 3_600_000, now - 3_600_000, (i) => 1 + (i % 5) / 100) },
      { metric: "yesterday", labels: { new: "1" }, samples: every(15_000, start, now, (i) => 3 + (i % 5) / 100) },
    ]);
  }, 20 * 60_000);
  afterAll(() => prometheus?.stop());

  const verify = (metrics: object[], more: object = {}) =>
    bench.run(verifyPrometheus, {
      url: prometheus.url,
      username: "robot",
      password: "let-me-in-77",
      start: new Date(start).toISOString(),
      durationSeconds: 600,
      metrics,
      ...more,
    } as never);
  const metric = (name: string, track: string, more: object = {}) => ({
    name,
    canary: `latency_seconds{track="${track}"}`,
    baseline: 'latency_seconds{track="stable"}',
    ...more,
  });

  test("a canary like its baseline passes, and the numbers are shown", async () => {
    const got = await verify([metric("latency", "canary")]);
    expect(got).toMatchObject({ outcome: "succeeded", outputs: { verdict: "pass", score: 100 } });
    const [one] = (got.outputs as { metrics: { canary: { samples: number }; p: number }[] }).metrics;
    expect(one!.canary.samples).toBeGreaterThan(30);
    expect(one!.p).toBeGreaterThan(0.05);
    expect(got.log.join("\n")).toMatch(/pass +latency: /);
  });

  test("a slower one fails by name, unless what fails weighs little", async () => {
    const got = await verify([metric("latency", "slow")]);
    expect(got).toMatchObject({
      outcome: "failed",
      reason: "VerificationFailed",
      message: expect.stringMatching(/not passed: latency/),
    });
    expect(got.outputs).toMatchObject({ metrics: [{ verdict: "fail", shift: expect.any(Number) }] });
    const weighed = [metric("good", "canary", { weight: 9 }), metric("bad", "slow")];
    expect(await verify(weighed, { passScore: 80 })).toMatchObject({ outcome: "succeeded", outputs: { score: 90 } });
  });

  test("the same query, earlier, can be the baseline", async () => {
    const one = { name: "before", canary: "max without (new) (yesterday)" };
    const got = await verify([one], { baselineOffsetSeconds: 3_600 });
    expect(got.outputs).toMatchObject({ metrics: [{ verdict: "fail", baseline: { samples: expect.any(Number) } }] });
  });

  test("no data fails or passes as asked, and a window that is not over is waited for", async () => {
    expect((await verify([metric("none", "nobody")])).outputs).toMatchObject({ metrics: [{ verdict: "noData" }] });
    expect((await verify([metric("none", "nobody", { onNoData: "pass" })])).outcome).toBe("succeeded");
    const soon = await verify([metric("soon", "canary", { minSamples: 1 })], {
      start: new Date().toISOString(),
      durationSeconds: 8,
      stepSeconds: 1,
    });
    expect(soon.log.join("\n")).toMatch(/waiting for the end of the window/);
    expect(soon.outcome).toBe("succeeded");
  });

  test("what goes wrong says what to do", async () => {
    expect(await verify([metric("m", "canary", { canary: "rate(" })])).toMatchObject({ reason: "QueryRefused" });
    expect(await verify([metric("m", "canary")], { password: "wrong-password" })).toMatchObject({
      reason: "PrometheusDenied",
    });
    expect(await verify([{ name: "m", canary: "up" }])).toMatchObject({ reason: "ParamsInvalid" });
    expect(await verify([metric("m", "a"), metric("m", "b")])).toMatchObject({ reason: "ParamsInvalid" });
  });
});
