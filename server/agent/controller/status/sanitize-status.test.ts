import type { Application } from "../application.ts";
import { sane } from "./sanitize-status.ts";

const app = (status: unknown) =>
  ({
    apiVersion: "v1",
    kind: "Application",
    metadata: { name: "a" },
    spec: { destination: {} },
    status,
  }) as unknown as Application;
const good = {
  conditions: [{ type: "x" }],
  history: [],
  resources: [{ kind: "A" }],
  sync: { status: "Synced", revision: "r", comparedTo: {} },
  health: { status: "Healthy" },
  operationState: { phase: "Running", operation: {}, syncResult: { resources: [] } },
};
test("a status as this program writes it stays as it is", () => {
  const given = app(good);
  expect(sane(given)).toBe(given);
  const none = app(undefined);
  expect(sane(none)).toBe(none);
});
test.each<[unknown, unknown]>([
  ["x", {}],
  [[], {}],
  [null, {}],
  [
    { ...good, conditions: { a: 1 } },
    { ...good, conditions: undefined },
  ],
  [
    { ...good, history: [null, 3, { id: 1 }] },
    { ...good, history: [{ id: 1 }] },
  ],
  [
    { ...good, resources: "x" },
    { ...good, resources: undefined },
  ],
  [
    { ...good, sync: { revision: {} } },
    { ...good, sync: undefined },
  ],
  [
    { ...good, sync: { comparedTo: 3 } },
    { ...good, sync: undefined },
  ],
  [
    { ...good, operationState: { phase: "Running", operation: null } },
    { ...good, operationState: undefined },
  ],
  [
    { ...good, operationState: { operation: {}, syncResult: { resources: "x" } } },
    { ...good, operationState: undefined },
  ],
  [
    { ...good, health: 7 },
    { ...good, health: undefined },
  ],
])("what does not fit is left out: %j", (given, want) => {
  expect(sane(app(given)).status).toEqual(want);
});
