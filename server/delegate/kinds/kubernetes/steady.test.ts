import type { KubeObject } from "../../../kube/object.ts";
import { Steadiness } from "./steady.ts";

const SECOND = 1_000;
const ago = (seconds: number) => new Date(Date.now() - seconds * SECOND).toISOString();
const pod = (container: object, spec: object = {}, phase = "Running"): KubeObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "web-1", namespace: "default", uid: "u" },
  spec: { containers: [{ name: "c", ...spec }] },
  status: { phase, containerStatuses: [{ name: "c", ready: true, restartCount: 0, ...container }] },
});
const running = (startedAt: string, restartCount = 0) => ({ restartCount, state: { running: { startedAt } } });

const cases: [string, { given: KubeObject; runs: number; want: string | undefined }][] = [
  ["one that has just started waits", { given: pod(running(ago(0))), runs: 0, want: "has just started; .* for 5 s" }],
  ["one that has run for 5 s is ready", { given: pod(running(ago(0))), runs: 5, want: undefined }],
  [
    "one that was restarted waits longer",
    { given: pod(running(ago(0), 1)), runs: 19, want: "after 1 restart; .* for 20 s" },
  ],
  [
    "one that was restarted and has run for 20 s is ready",
    { given: pod(running(ago(0), 2)), runs: 20, want: undefined },
  ],
  [
    "one that has run for a minute is ready at once, whatever came before",
    { given: pod(running(ago(61), 9)), runs: 0, want: undefined },
  ],
  ["a readiness probe is believed", { given: pod(running(ago(0)), { readinessProbe: {} }), runs: 0, want: undefined }],
  ["a startup probe is believed", { given: pod(running(ago(0)), { startupProbe: {} }), runs: 0, want: undefined }],
  [
    "one between two crashes waits",
    {
      given: pod({ restartCount: 1, state: { waiting: { reason: "CrashLoopBackOff" } } }),
      runs: 0,
      want: "again and again",
    },
  ],
  [
    "one that crashed waits",
    { given: pod({ state: { terminated: { exitCode: 2 } } }), runs: 0, want: "ended with exit code 2" },
  ],
  [
    "a Pod that has done its work is ready",
    { given: pod({ state: { terminated: { exitCode: 0 } } }, {}, "Succeeded"), runs: 0, want: undefined },
  ],
];

test.each(cases)("without a readiness probe %s", (_, { given, runs, want }) => {
  let now = 0;
  const steadiness = new Steadiness(() => now);
  steadiness.unsteady(given);
  now = runs * SECOND;
  const found = steadiness.unsteady(given)?.why;
  if (want === undefined) expect(found).toBeUndefined();
  else expect(found).toMatch(new RegExp(want));
});

test("a new run of the same container begins to count anew", () => {
  let now = 0;
  const steadiness = new Steadiness(() => now);
  steadiness.unsteady(pod(running(ago(2))));
  now = 6 * SECOND;
  expect(steadiness.unsteady(pod(running(ago(0), 1)))).toMatchObject({ restarted: true });
});
