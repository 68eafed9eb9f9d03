import { setTimeout as sleep } from "node:timers/promises";
import type { Schemas } from "../../../../openapi/client.ts";
import { validateTaskParamsVerifyPrometheus } from "../../../../openapi/contract/validators.js";
import { failed, type TaskKindHandler } from "../../kind.ts";
import { type Judged, judgeMetric, weigh } from "./judge-metric.ts";
import { queryRange } from "./prometheus.ts";

/** What Prometheus answers at most for one series. */
const MAX_POINTS = 11_000;
const SAY_MS = 30_000;

/** Compares a canary with its baseline over a window of time, each metric by the Mann-Whitney U test, and shows the numbers. */
export const verifyPrometheus: TaskKindHandler<Schemas["TaskParamsVerifyPrometheus"]> = {
  validate: validateTaskParamsVerifyPrometheus,

  lacks: async () => undefined,

  async run(params, context) {
    const {
      metrics,
      durationSeconds = 300,
      stepSeconds = 15,
      baselineOffsetSeconds: offset = 0,
      passScore = 100,
    } = params;
    const twin = metrics.findIndex(({ name }, i) => metrics.findIndex((m) => m.name === name) !== i);
    if (twin >= 0) return failed("ParamsInvalid", `/params/metrics/${twin}/name: another metric has this name`);
    if (durationSeconds / stepSeconds > MAX_POINTS)
      return failed("ParamsInvalid", `/params/stepSeconds: more than ${MAX_POINTS} points; take a longer step`);
    const same = metrics.findIndex(({ canary, baseline = canary }) => baseline === canary && offset === 0);
    if (same >= 0)
      return failed(
        "ParamsInvalid",
        `/params/metrics/${same}: give a \`baseline\` query or \`baselineOffsetSeconds\`; now it is compared with itself`,
      );
    const start = params.start === undefined ? Date.now() / 1_000 : Date.parse(params.start) / 1_000;
    if (!Number.isFinite(start)) return failed("ParamsInvalid", "/params/start is not a time");
    const end = start + durationSeconds;
    while (Date.now() / 1_000 < end && !context.signal.aborted) {
      const left = end * 1_000 - Date.now();
      await context.write("system", `waiting for the end of the window, ${Math.ceil(left / 1_000)} s from now`);
      await sleep(Math.min(left, SAY_MS), undefined, { signal: context.signal }).catch(() => undefined);
    }
    if (context.signal.aborted) return failed("Ended", "it was ended while it waited for the end of the window");
    const judged: Judged[] = [];
    for (const metric of metrics) {
      const canary = await queryRange(context, params, metric.canary, { start, end, stepSeconds });
      if (canary.kind !== "done") return failed(canary.reason, `${metric.name}: ${canary.message}`);
      const range = { start: start - offset, end: end - offset, stepSeconds };
      const baseline = await queryRange(context, params, metric.baseline ?? metric.canary, range);
      if (baseline.kind !== "done") return failed(baseline.reason, `${metric.name}: ${baseline.message}`);
      const one = judgeMetric(metric, canary.value, baseline.value);
      judged.push(one);
      await context.write("stdout", `${one.verdict.padEnd(6)} ${one.name}: ${one.why}`);
    }
    const { pass, score, failed: bad } = weigh(metrics, judged, passScore);
    const outputs = { verdict: pass ? "pass" : "fail", score, metrics: judged };
    if (pass) return { outcome: "succeeded", outputs };
    return failed(
      "VerificationFailed",
      `score ${score} of ${passScore} wanted; not passed: ${bad.join(", ")}`,
      outputs,
    );
  },
};
