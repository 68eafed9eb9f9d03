import type { Schemas } from "../nouns.ts";
import { finishedSyncs } from "./finished-syncs.ts";

type Status = Schemas["ApplicationStatus"];
const at = (minute: number) => `2026-01-01T00:${String(minute).padStart(2, "0")}:00.000Z`;
const entry = (id: number, more: object = {}) => ({
  ...{ id, deployStartedAt: at(id), deployedAt: at(id + 1), revision: `r${id}`, images: [`web:${id}`] },
  ...more,
});
const operation = (start: number, phase: "Succeeded" | "Failed" | "Error" | "Running", more: object = {}) => ({
  ...{
    phase,
    startedAt: at(start),
    finishedAt: at(start + 1),
    message: "said",
    initiatedBy: "eve",
    cause: "Manual" as const,
  },
  ...more,
});
const starts = (before: Status, after: Status) => finishedSyncs(before, after).map((sync) => sync.startedAt);

test("a sync that both history and operation tell of is one", () => {
  expect(finishedSyncs({}, { history: [entry(1)], operation: operation(1, "Succeeded") })).toEqual([
    {
      startedAt: at(1),
      finishedAt: at(2),
      outcome: "Succeeded",
      cause: "Manual",
      initiatedBy: "eve",
      message: "said",
      revision: "r1",
      images: ["web:1"],
      historyId: 1,
    },
  ]);
});

test("syncs while the agent was away are told by the history", () => {
  const before: Status = { history: [entry(1)], operation: operation(1, "Succeeded") };
  expect(starts(before, { history: [entry(1), entry(3), entry(5)], operation: operation(7, "Failed") })).toEqual([
    at(3),
    at(5),
    at(7),
  ]);
});

test.each<[string, Status, Status]>([
  [
    "the same again",
    { history: [entry(1)], operation: operation(1, "Succeeded") },
    { history: [entry(1)], operation: operation(1, "Succeeded") },
  ],
  ["one that runs", {}, { operation: operation(1, "Running") }],
  ["a dry run", {}, { operation: operation(1, "Succeeded", { dryRun: true }) }],
  ["what never began", {}, { operation: operation(1, "Error", { startedAt: undefined }) }],
  ["no time", {}, { history: [entry(1, { deployStartedAt: "yesterday" })] }],
  [
    "a year that no database takes",
    {},
    { operation: operation(1, "Failed", { startedAt: "-271821-04-20T00:00:00Z" }) },
  ],
  [
    "a time behind all cursors",
    {},
    { operation: operation(1, "Failed", { startedAt: "2300-01-01T00:00:00Z", finishedAt: "2300-01-01T00:01:00Z" }) },
  ],
  ["nothing", { history: [entry(1)] }, {}],
])("%s is no new sync", (_what, before, after) => expect(finishedSyncs(before, after)).toEqual([]));

test("a failed sync says why", () => {
  const [sync] = finishedSyncs({}, { operation: operation(1, "Error", { message: "x".repeat(5_000) }) });
  expect([sync!.outcome, sync!.message?.length]).toEqual(["Failed", 1_000]);
});

test("a long message is cut between two signs", () => {
  const [sync] = finishedSyncs({}, { operation: operation(1, "Failed", { message: `${"x".repeat(999)}🙂` }) });
  expect(sync!.message).toBe("x".repeat(999));
});
