import { again, stop } from "../../../base/outcome.ts";
import type { Application, ApplicationStatus, Operation } from "../application.ts";
import type { CompareTarget } from "../compare/normalise.ts";
import type { Deps } from "../deps.ts";
import { reconcile } from "../reconcile.ts";
import { Report } from "../status/report.ts";
import { givesWayToRequest, history, nextAttempt, operationToRun, withoutTargets } from "./operation.ts";
import { endOf } from "./results.ts";

const asked: Operation = { sync: {}, initiatedBy: { username: "ana" } };
const app = (status: ApplicationStatus) =>
  ({
    metadata: { name: "shop", namespace: "outpost", annotations: {} },
    spec: {},
    operation: asked,
    status,
  }) as unknown as Application;
const at = (seconds: number) => new Date(Date.UTC(2026, 0, 1) + seconds * 1_000).toISOString().replace(/\.\d+/, "");
const told = (message: string, seconds: number) =>
  app({ conditions: [{ type: "ComparisonError", reason: "Failed", message, lastTransitionTime: at(seconds) }] });

test("a sync is not kept for longer by a host that says in other words each time that it is away", () => {
  const away = again("RepositoryUnreachable", "timed out after 30002 ms");
  const [young, old] = [120, 181].map((now) =>
    withoutTargets(told(away.message, now - 5), {
      type: "ComparisonError",
      failure: away,
      now: at(now),
      failingSince: at(0),
    }),
  );
  expect(young).toBeUndefined();
  expect(old).toMatchObject({ operation: asked, phase: "Error", message: expect.stringContaining("30002 ms") });
});

test("what is wrong now has its own patience, however long something else was wrong before", () => {
  const wrong = stop("PathNotFound", "there is no such folder");
  const given = { type: "ComparisonError", failure: wrong, now: at(181), failingSince: at(0) };
  expect(withoutTargets(told(wrong.message, 175), given)).toBeUndefined();
  expect(withoutTargets(told(wrong.message, 170), given)).toMatchObject({ phase: "Error" });
});

test("what was asked for while another sync was to end is looked at again, also where nothing can be synced", async () => {
  const ending = { operation: { sync: {} }, phase: "Terminating" as const, startedAt: at(0) };
  const here = app({ operationState: ending });
  const written: Record<string, unknown>[] = [];
  const write = async (_: unknown, patch: Record<string, unknown>) => {
    written.push(patch);
    return { kind: "done", value: here };
  };
  const store = { get: () => here, replace: write, patch: write };
  const deps = { store, namespace: "outpost", now: () => Date.parse(at(60)), memory: new Map() } as unknown as Deps;
  const next = await reconcile(deps, here, new Report(deps, "shop"));
  expect(written).toMatchObject([{ status: { operationState: { phase: "Failed", message: "Operation terminated" } } }]);
  expect(written[0]).not.toHaveProperty("operation");
  expect(next?.afterMs).toBeLessThan(60_000);
});

// In a burst each operation starts a second after the one before it, ahead of the clock.
test.each([
  ["later than it began", 10, 12, 12],
  ["in the second in which it began", 10, 10, 10],
  ["before its start, which is ahead of the clock", 15, 11, 15],
  ["after the clock was set back", 3_600, 5, 3_600],
])("an operation never ends before it begins, nor is anything deployed before that: %s", (_, start, now, end) => {
  const finishedAt = endOf({ startedAt: at(start) }, at(now));
  expect(finishedAt).toBe(at(end));
  const state = { operation: asked, phase: "Succeeded" as const, startedAt: at(start), finishedAt };
  const [entry] = history({ ...app({}), spec: { source: {} } } as unknown as Application, state, []);
  expect(Date.parse(entry!.deployedAt)).toBeGreaterThanOrEqual(Date.parse(entry!.deployStartedAt!));
  const ended = withoutTargets(app({ operationState: { ...state, phase: "Terminating" } }), {
    type: "X",
    failure: stop("X", "x"),
    now: at(now),
  });
  expect(ended?.finishedAt).toBe(at(end));
});

test("of a burst of refused operations each starts a second after the one before, and ends no earlier", () => {
  const given = { type: "ComparisonError", failure: stop("X", "x"), now: at(60) };
  let last = withoutTargets(told("x", 0), given)!;
  for (let i = 0; i < 5; i++) {
    const status = { ...told("x", 0).status, operationState: last };
    const next = withoutTargets(app(status), given)!;
    expect(Date.parse(next.startedAt) - Date.parse(last.startedAt)).toBe(1_000);
    expect(Date.parse(next.finishedAt!)).toBeGreaterThanOrEqual(Date.parse(next.startedAt));
    last = next;
  }
});

test.each([
  [
    "ours",
    "failed. Retrying attempt #2 at 2026-01-01T00:00:30.500Z.",
    { number: 2, at: Date.parse("2026-01-01T00:00:30.500Z") },
  ],
  // Five seconds, doubled with each attempt.
  ["Argo CD's", "failed. Retrying attempt #3 at 3:58PM.", { number: 3, at: Date.parse(at(10)) + 20_000 }],
  ["nobody's", "failed", undefined],
])("an attempt that waits is found in a status of %s", (_, message, want) => {
  const state = {
    operation: { sync: {}, retry: { limit: 5 } },
    phase: "Running" as const,
    startedAt: at(0),
    finishedAt: at(10),
    retryCount: 3,
  };
  expect(nextAttempt({ ...state, message })).toEqual(want);
});

test.each<[string, Operation, Operation, boolean]>([
  ["another sync", asked, { sync: { prune: true } }, true],
  ["a dry run", { sync: { dryRun: true } }, { sync: { prune: true } }, false],
  ["another dry run", { sync: { dryRun: true } }, { sync: { dryRun: true, prune: true } }, true],
  ["the request of what runs", asked, asked, false],
])("a sync that waits for its next attempt, and %s is asked for", (_, operation, running, want) => {
  const message = `failed. Retrying attempt #1 at ${at(300)}.`;
  const operationState = {
    operation: running,
    phase: "Running" as const,
    startedAt: at(0),
    finishedAt: at(1),
    message,
  };
  expect(givesWayToRequest({ ...app({ operationState }), operation })).toBe(want);
});

// The API server's clock is two seconds ahead of ours.
test.each([
  ["without hooks the sync is recorded", undefined, "Running"],
  ["hooks do not run again", { phases: ["PostSync"], partings: [], skip: false, deletePolicies: [] }, undefined],
])(
  "where a commit has changed no object, and the last sync seems to have written after its end: %s",
  (_, hook, want) => {
    const last = {
      operation: { sync: {} },
      phase: "Succeeded",
      startedAt: at(0),
      finishedAt: at(1),
      syncResult: { revision: "a" },
    };
    const here = { ...app({ operationState: last } as ApplicationStatus), operation: undefined };
    here.spec = { source: {}, destination: {}, syncPolicy: { automated: {} } } as Application["spec"];
    const objects = new Map([["a", { metadata: { managedFields: [{ time: at(2) }] } }]]);
    const input = {
      deps: { store: { all: () => [] }, projects: { of: () => stop("None", "") }, now: () => Date.parse(at(60)) },
      app: here,
      destination: { own: "outpost", live: { ofApp: () => objects } },
      wanted: { revisions: ["b"], normalised: { targets: [{ hook } as CompareTarget] } },
      seen: { status: "Synced", outOfSync: [], prunable: [], inventory: 1 },
      now: at(60),
    } as unknown as Parameters<typeof operationToRun>[0];
    expect(operationToRun(input).state?.phase).toBe(want);
  },
);
