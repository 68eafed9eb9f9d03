import { again, stop } from "../../../base/outcome.ts";
import type { Application, ApplicationStatus, Operation } from "../application.ts";
import type { Deps } from "../deps.ts";
import { reconcile } from "../reconcile.ts";
import { Report } from "../status/report.ts";
import { withoutTargets } from "./operation.ts";

const asked: Operation = { sync: {}, initiatedBy: { username: "ana" } };
const app = (status: ApplicationStatus) =>
  ({ metadata: { name: "shop", namespace: "outpost", annotations: {} }, spec: {}, operation: asked, status }) as unknown as Application;
const at = (seconds: number) => new Date(Date.UTC(2026, 0, 1) + seconds * 1_000).toISOString().replace(/\.\d+/, "");
const told = (message: string, seconds: number) =>
  app({ conditions: [{ type: "ComparisonError", reason: "Failed", message, lastTransitionTime: at(seconds) }] });

test("a sync is not kept for longer by a host that says in other words each time that it is away", () => {
  const away = again("RepositoryUnreachable", "timed out after 30002 ms");
  const [young, old] = [120, 181].map((now) => withoutTargets(told(away.message, now - 5), "ComparisonError", away, at(now), at(0)));
  expect(young).toBeUndefined();
  expect(old).toMatchObject({ operation: asked, phase: "Error", message: expect.stringContaining("30002 ms") });
});

test("what is wrong now has its own patience, however long something else was wrong before", () => {
  const wrong = stop("PathNotFound", "there is no such folder");
  expect(withoutTargets(told(wrong.message, 175), "ComparisonError", wrong, at(181), at(0))).toBeUndefined();
  expect(withoutTargets(told(wrong.message, 170), "ComparisonError", wrong, at(181), at(0))).toMatchObject({ phase: "Error" });
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
