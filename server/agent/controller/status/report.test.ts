import { jest } from "@jest/globals";
import { done } from "../../../base/outcome.ts";
import type { Application, Operation, OperationState } from "../application.ts";
import { META } from "../application.ts";
import type { Deps } from "../deps.ts";
import { Report } from "./report.ts";

const STARTED = "2026-01-01T00:00:00Z";
const automated: Operation = { sync: { revision: "a" }, initiatedBy: { automated: true } };
const asked: Operation = { sync: { revision: "b" }, initiatedBy: { username: "ana" } };
const running: OperationState = { operation: automated, phase: "Running", startedAt: STARTED };

/** One application, with what would be written to it. */
function world(more: Partial<Application> = {}) {
  let app = { metadata: { name: "shop", annotations: {} }, spec: {}, ...more } as unknown as Application;
  const written: Record<string, unknown>[] = [];
  const write = async (_: unknown, patch: object) => {
    written.push(patch as Record<string, unknown>);
    return done(app);
  };
  const store = { get: () => app, replace: write, patch: write };
  const deps = { store, now: () => Date.parse(STARTED) } as unknown as Deps;
  const report = new Report(deps, "shop");
  /** Another client writes during the look. */
  const meanwhile = (change: object) => {
    app = { ...app, ...change } as Application;
  };
  return { report, written, meanwhile, another: () => new Report(deps, "shop") };
}

test("a sync that was asked for while another is carried out is left for the next look", async () => {
  const { report, written, meanwhile } = world({ operation: automated });
  report.take(automated);
  report.set({ operationState: { ...running, phase: "Succeeded" } });
  meanwhile({ operation: asked });
  await report.end();
  expect(written).toHaveLength(1);
  expect(written[0]).not.toHaveProperty("operation");
});

test("the sync that was begun is taken away, with the first that is written of it", async () => {
  const { report, written } = world({ operation: asked });
  report.take(asked);
  report.set({ operationState: { ...running, operation: asked } });
  await report.save();
  expect(written).toEqual([expect.objectContaining({ operation: null, status: expect.anything() })]);
});

test("the same sync that is asked for again while it is carried out is left for the next look", async () => {
  const { report, written, meanwhile } = world({ operation: asked });
  report.take(asked);
  report.set({ operationState: { ...running, operation: asked } });
  await report.save();
  meanwhile({ operation: structuredClone(asked), status: { operationState: { ...running, operation: asked } } });
  report.set({ operationState: { ...running, operation: asked, phase: "Succeeded" } });
  await report.end();
  expect(written).toHaveLength(2);
  expect(written[1]).not.toHaveProperty("operation");
});

test("a refresh that was asked for during a look is not answered by it", async () => {
  const { report, written, meanwhile } = world();
  report.set({ sync: { status: "Synced" } });
  meanwhile({ metadata: { name: "shop", annotations: { [META.refresh]: "hard" } } });
  await report.end({ refreshed: true });
  expect(written).toHaveLength(1);
  expect(written[0]).not.toHaveProperty("metadata");
});

test("a termination that came while a step ran stands", async () => {
  const { report, written, meanwhile } = world({ status: { operationState: running } });
  report.set({ operationState: { ...running, message: "waiting for a hook" } });
  meanwhile({ status: { operationState: { ...running, phase: "Terminating" } } });
  await report.end();
  expect(written).toEqual([
    {
      status: {
        operationState: {
          operation: expect.anything(),
          phase: "Terminating",
          startedAt: STARTED,
          message: "waiting for a hook",
        },
      },
    },
  ]);
});

test("a sync that has ended stays ended, whoever terminates it then", async () => {
  const { report, written, meanwhile } = world({ status: { operationState: running } });
  report.set({ operationState: { ...running, phase: "Succeeded" } });
  meanwhile({ status: { operationState: { ...running, phase: "Terminating" } } });
  await report.end();
  expect(written).toMatchObject([{ status: { operationState: { phase: "Succeeded" } } }]);
});

test("a look that takes long is announced, and of a hundred at once only two a second", async () => {
  jest.useFakeTimers();
  try {
    const { report, written, another } = world();
    const reports = [report, ...Array.from({ length: 99 }, another)];
    for (const one of reports) one.begin("Comparing", "comparing");
    await jest.advanceTimersByTimeAsync(2_900);
    expect(written).toHaveLength(0);
    await jest.advanceTimersByTimeAsync(10_000);
    expect(written.length).toBeGreaterThan(1);
    expect(written.length).toBeLessThanOrEqual(20);
    await Promise.all(reports.map((one) => one.drop()));
  } finally {
    jest.useRealTimers();
  }
});

test("what was done for an application is not said of another one that took its name meanwhile", async () => {
  const { report, written, meanwhile } = world({ metadata: { name: "shop", uid: "1", annotations: {} } });
  report.set({ operationState: { ...running, phase: "Succeeded" }, sync: { status: "Synced" } });
  meanwhile({ metadata: { name: "shop", uid: "2", annotations: {} } });
  await report.save();
  await report.end();
  expect(written).toEqual([]);
});
