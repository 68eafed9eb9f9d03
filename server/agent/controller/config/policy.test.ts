import type { Application, OperationState, SyncPolicy } from "../application.ts";
import { decide, retryDelay, type Situation } from "./policy.ts";

const source = { repoURL: "https://git.example/r", path: "p" };
const NOW = Date.parse("2026-01-01T00:10:00Z");
const state = (phase: OperationState["phase"], ago: number, more: Partial<OperationState> = {}): OperationState => ({
  operation: { sync: {} },
  phase,
  startedAt: new Date(NOW - ago).toISOString(),
  finishedAt: new Date(NOW - ago).toISOString(),
  syncResult: { revision: "r1", source },
  message: "because",
  ...more,
});
function situation(
  automated: SyncPolicy["automated"] | undefined,
  more: Partial<Situation> = {},
  last?: OperationState,
): Situation {
  const app = {
    apiVersion: "argoproj.io/v1alpha1",
    kind: "Application",
    metadata: { name: "a" },
    spec: { source, destination: {}, syncPolicy: { automated } },
    status: { operationState: last },
  } as Application;
  return { app, status: "OutOfSync", outOfSync: [{}], revisions: ["r1"], inventory: 4, prunable: 0, now: NOW, ...more };
}
const all = { prune: true, selfHeal: true };
const pruneOnly = [{ requiresPruning: true }];

const cases: [string, { given: Situation; want: object }][] = [
  ["no automated policy", { given: situation(undefined), want: { do: "nothing" } }],
  ["policy switched off", { given: situation({ enabled: false }), want: { do: "nothing" } }],
  ["in sync", { given: situation(all, { status: "Synced" }), want: { do: "nothing" } }],
  ["unknown is never acted upon", { given: situation(all, { status: "Unknown" }), want: { do: "nothing" } }],
  [
    "out of sync for the first time",
    { given: situation(all), want: { do: "sync", attempts: 0, onlyOutOfSync: false } },
  ],
  [
    "only extra objects, pruning off",
    { given: situation({}, { outOfSync: pruneOnly, prunable: 1 }), want: { do: "nothing" } },
  ],
  [
    "only extra objects, pruning on",
    { given: situation(all, { outOfSync: pruneOnly, prunable: 1 }), want: { do: "sync" } },
  ],
  [
    "objects of other applications are not acted upon",
    { given: situation(all, { outOfSync: [] }), want: { do: "nothing" } },
  ],
  [
    "only the namespace's labels are others",
    { given: situation({}, { outOfSync: [], namespaceChanged: true }), want: { do: "sync" } },
  ],
  ["an operation runs", { given: situation(all, {}, state("Running", 0)), want: { do: "nothing" } }],
  [
    "the same revision failed",
    {
      given: situation(all, {}, state("Failed", 1_000)),
      want: { do: "refuse", condition: { type: "SyncError", message: "Failed last sync attempt to [r1]: because" } },
    },
  ],
  [
    "the same revision was tried only",
    {
      given: situation(all, {}, state("Failed", 1_000, { operation: { sync: { dryRun: true } } })),
      want: { do: "sync", attempts: 0 },
    },
  ],
  [
    "another revision failed",
    { given: situation(all, { revisions: ["r2"] }, state("Failed", 1_000)), want: { do: "sync", attempts: 0 } },
  ],
  [
    "drift without self-heal",
    { given: situation({ prune: true }, {}, state("Succeeded", 1_000)), want: { do: "nothing" } },
  ],
  [
    "drift with self-heal, first time",
    { given: situation(all, {}, state("Succeeded", 0)), want: { do: "sync", attempts: 1, onlyOutOfSync: true } },
  ],
  [
    "drift again waits 2 s",
    {
      given: situation(all, {}, state("Succeeded", 500, { operation: { sync: { autoHealAttemptsCount: 1 } } })),
      want: { do: "wait", afterMs: 1_500 },
    },
  ],
  [
    "drift for the third time waits 6 s",
    {
      given: situation(all, {}, state("Succeeded", 2_000, { operation: { sync: { autoHealAttemptsCount: 2 } } })),
      want: { do: "wait", afterMs: 4_000 },
    },
  ],
  [
    "attempts are forgotten after a quiet time",
    {
      given: situation(all, {}, state("Succeeded", 331_000, { operation: { sync: { autoHealAttemptsCount: 9 } } })),
      want: { do: "sync", attempts: 1 },
    },
  ],
  [
    "everything would be pruned",
    {
      given: situation(all, { outOfSync: pruneOnly, prunable: 4 }),
      want: { do: "refuse", condition: { reason: "PruneWouldEmpty" } },
    },
  ],
  [
    "everything may be pruned",
    { given: situation({ ...all, allowEmpty: true }, { outOfSync: pruneOnly, prunable: 4 }), want: { do: "sync" } },
  ],
  [
    "more than half would be pruned",
    { given: situation(all, { prunable: 3 }), want: { do: "refuse", condition: { reason: "PruneNeedsConsent" } } },
  ],
  ["half may be pruned", { given: situation(all, { inventory: 6, prunable: 3 }), want: { do: "sync" } }],
  [
    "two of three are an ordinary change",
    { given: situation(all, { inventory: 3, prunable: 2 }), want: { do: "sync" } },
  ],
];
test.each(cases)("decide: %s", (_, { given, want }) => {
  expect(decide(given)).toMatchObject(want);
});

test.each([
  [{ limit: 2 }, 1, 5_000],
  [{ limit: 2 }, 2, 10_000],
  [{ limit: 2 }, 3, undefined],
  [{ limit: -1, backoff: { duration: "1m", factor: 3, maxDuration: "10m" } }, 3, 540_000],
  [{ limit: -1, backoff: { duration: "1m", factor: 3, maxDuration: "10m" } }, 4, 600_000],
  [{ limit: 1, backoff: { duration: "", maxDuration: "" } }, 1, 5_000],
  [{ limit: -1, backoff: { duration: "", maxDuration: "" } }, 9, 180_000],
  [{ limit: 1, backoff: { duration: "+7" } }, 1, 7_000],
  [{ limit: 1, backoff: { duration: "-5" } }, 1, 0],
  [{ limit: 1, backoff: { duration: "5s", maxDuration: "-5" } }, 1, 5_000],
  [{ limit: 1, backoff: { duration: "soon" } }, 1, undefined],
  [{ limit: -1, backoff: { duration: 0, factor: 10 } }, 400, 0],
  [{ limit: -1, backoff: { duration: "1h", factor: 10, maxDuration: "0" } }, 400, 9_223_372_036_854],
  [undefined, 1, undefined],
])("retry %j, attempt %i", (retry, count, want) => {
  expect(retryDelay(retry, count)).toBe(want);
});
