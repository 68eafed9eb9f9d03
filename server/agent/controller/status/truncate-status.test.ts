import type { Application, ApplicationStatus, OperationPhase, ResourceResult, ResourceStatus } from "../application.ts";
import { truncateStatus } from "./truncate-status.ts";

const LIMIT = 1.5 * 2 ** 20;
const app = (status: ApplicationStatus = {}, spec: object = {}) =>
  ({
    apiVersion: "argoproj.io/v1alpha1",
    kind: "Application",
    metadata: { name: "shop", namespace: "outpost" },
    spec,
    status,
  }) as Application;
const row = (i: number, more: Partial<ResourceStatus> = {}): ResourceStatus => ({
  ...{
    group: "apps",
    version: "v1",
    kind: "Deployment",
    namespace: "shop-of-many-things",
    name: `a-deployment-of-many-${i}`,
  },
  ...{ status: "Synced", health: { status: "Healthy" }, ...more },
});
const result = (i: number, more: Partial<ResourceResult> = {}): ResourceResult => ({
  ...{
    group: "apps",
    version: "v1",
    kind: "Deployment",
    namespace: "shop-of-many-things",
    name: `a-deployment-of-many-${i}`,
  },
  ...{
    status: "Synced",
    message: `deployment.apps/a-deployment-of-many-${i} serverside-applied`,
    syncPhase: "Sync",
    ...more,
  },
});
const many = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));
const state = (phase: OperationPhase, resources: ResourceResult[]): ApplicationStatus["operationState"] => ({
  ...{ operation: { sync: {} }, phase, startedAt: "2026-01-01T00:00:00Z", syncResult: { revision: "a", resources } },
});
const size = (of: Application, status: ApplicationStatus) =>
  Buffer.byteLength(JSON.stringify({ ...of, status: { ...of.status, ...status } }));

test("a status that fits is left as it is", () => {
  const next = { resources: many(2_000, row), operationState: state("Succeeded", many(2_000, result)) };
  expect(truncateStatus(app(), next)).toEqual({ status: next });
  expect(truncateStatus(app(), next).status).toBe(next);
});

test("a few objects of which each is refused with a word as long as itself fit all the same, also while the sync goes on", () => {
  for (const phase of ["Running", "Failed"] as const) {
    const results = many(30, (i) => result(i, { status: "SyncFailed", message: "x".repeat(100_000) }));
    const got = truncateStatus(app(), { operationState: state(phase, results) }).status;
    expect(size(app(), got)).toBeLessThan(LIMIT);
    expect(got.operationState!.syncResult!.resources!.map(({ name, status }) => [name, status])).toEqual(
      results.map(({ name, status }) => [name, status]),
    );
  }
  const resources = many(60, (i) => row(i, { health: { status: "Degraded", message: "x".repeat(32_768) } }));
  const got = truncateStatus(app(), { resources }).status;
  expect(size(app(), got)).toBeLessThan(LIMIT);
  expect(got.resources).toHaveLength(60);
});

test("what a sync says of objects that went well goes before any of the resources, and what went wrong stays with its words", () => {
  const results = [...many(5_000, result), result(5_000, { status: "SyncFailed", message: "no such kind" })];
  const next = { resources: many(5_001, row), operationState: state("Failed", results) };
  const got = truncateStatus(app(), next);
  expect(size(app(), got.status)).toBeLessThan(LIMIT);
  expect(got.status.resources).toEqual(next.resources);
  expect(got.status.operationState!.syncResult!.resources!.at(-1)).toEqual(results.at(-1));
  const left = 5_001 - got.status.operationState!.syncResult!.resources!.length;
  expect(left).toBeGreaterThan(0);
  expect(got.condition).toMatchObject({ reason: "StatusTooLarge" });
  expect(got.condition!.message).toMatch(new RegExp(`^${left} of 5001 results of the last sync are left out: `));
});

test("of too many resources those that are not Synced and Healthy stay, one of each kind, in their order, and it is said how many do not", () => {
  const resources = many(20_000, (i) => {
    if (i % 1_000 === 999) return row(i, { status: "OutOfSync" });
    if (i % 1_000 === 998) return row(i, { health: { status: "Degraded", message: "x".repeat(5_000) } });
    return i % 5_000 === 4_997 ? row(i, { kind: `Kind${i}`, health: undefined }) : row(i);
  });
  const got = truncateStatus(app(), { resources });
  const kept = got.status.resources!;
  expect(size(app(), got.status)).toBeLessThan(LIMIT);
  const names = kept.map(({ name }) => name);
  const must = resources.filter(
    ({ status, health, kind }) => status !== "Synced" || health?.status === "Degraded" || kind !== "Deployment",
  );
  expect(must).toHaveLength(44);
  for (const { name } of must) expect(names).toContain(name);
  expect(names).toEqual(resources.map(({ name }) => name).filter((name) => names.includes(name)));
  expect(kept.length).toBeGreaterThan(5_000);
  expect(got.condition!.message).toContain(`${20_000 - kept.length} of 20000 resources are left out`);
  // What was left out once is no news: it is the same the next time, also where something else has been added.
  expect(truncateStatus(app({ ...got.status, reconciledAt: "2026-01-01T00:00:00Z" }), { resources })).toEqual(got);
});

test("a sync that goes on keeps all that it has done, and the resources make room for it", () => {
  const results = many(6_000, result);
  const got = truncateStatus(app({ resources: many(6_000, row) }), { operationState: state("Running", results) });
  const kept = got.status.operationState!.syncResult!.resources!;
  expect(kept.map(({ name, status }) => [name, status])).toEqual(results.map(({ name, status }) => [name, status]));
  expect(got.status.resources!.length).toBeLessThan(6_000);
  expect(size(app(), got.status)).toBeLessThan(LIMIT);
});

test("where there is no room at all one resource of each kind stays, by which its objects are found", () => {
  const resources = many(1_000, (i) => row(i, { kind: i < 900 ? "Deployment" : "StatefulSet" }));
  const large = app({}, { values: "x".repeat(1_450_000) });
  const got = truncateStatus(large, { sync: { status: "Synced" }, resources });
  expect(got.status).toEqual({ sync: { status: "Synced" }, resources: [resources[0], resources[900]] });
  expect(got.condition!.message).toContain("998 of 1000 resources");
  expect(size(large, got.status)).toBeLessThan(LIMIT);

  // A sync of very many that goes on leaves none either.
  const busy = truncateStatus(app({ resources }), { operationState: state("Running", many(9_300, result)) });
  expect(busy.status.resources).toEqual([resources[0], resources[900]]);
  expect(size(app(), busy.status)).toBeLessThan(LIMIT);
});
