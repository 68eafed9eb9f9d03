import { toResults } from "./results.ts";

const one = (name: string, more: object) => ({
  group: "apps",
  version: "v1",
  kind: "Deployment",
  namespace: "web",
  name,
  ...more,
});
const state = (resources: object[], dryRun?: boolean) => ({
  operation: { sync: { dryRun } },
  syncResult: { resources },
});

test("a dry run tells of each object, the failures first", () => {
  const resources = [
    one("a", { status: "Synced", message: "Deployment a created (dry run)" }),
    one("b", { status: "Synced", message: "deployment.apps/b configured (dry run)" }),
    one("c", { status: "Synced", message: "Deployment c unchanged (dry run)" }),
    one("d", { status: "Pruned", message: "pruned (dry run)" }),
    one("e", { status: "PruneSkipped", message: "ignored (requires pruning)" }),
    one("f", { status: "SyncFailed", message: 'namespaces "web" not found', hookPhase: "Failed" }),
    one("g", { hookType: "PreSync", hookPhase: "Succeeded", message: "Job g created (dry run)" }),
  ];
  const { dryRun, results } = toResults(state(resources, true));
  expect([dryRun, results?.map(({ name, outcome, hook }) => [name, outcome, hook])]).toEqual([
    true,
    [
      ["f", "Failed", undefined],
      ["a", "Created", undefined],
      ["b", "Configured", undefined],
      ["c", "Unchanged", undefined],
      ["d", "Pruned", undefined],
      ["e", "PruneSkipped", undefined],
      ["g", "Created", true],
    ],
  ]);
});

test("another operation tells of what failed alone, and never of more than fits", () => {
  const failed = Array.from({ length: 30 }, (_, i) =>
    one(`f${i}`, { status: "SyncFailed", message: "x".repeat(2_000) }),
  );
  const { dryRun, results } = toResults(state([one("a", { status: "Synced", message: "created" }), ...failed]));
  expect([dryRun, results?.length, results?.[0]?.message?.length]).toEqual([undefined, 20, 1_000]);
  expect(
    toResults(
      state(
        Array.from({ length: 900 }, (_, i) => one(`a${i}`, {})),
        true,
      ),
    ).results,
  ).toHaveLength(500);
});

test.each([[undefined], [{}], [{ syncResult: { resources: [null, 1, { kind: 3 }, {}] } }]])(
  "%j tells nothing",
  (given) => expect(toResults(given)).toEqual({}),
);
