import { done, stop } from "../../../base/outcome.ts";
import type { KubeClient } from "../../../kube/client.ts";
import type { KubeObject } from "../../../kube/object.ts";
import type { Application, ApplicationStatus } from "../application.ts";
import { Events, eventsBetween } from "./events.ts";

const app = (status?: object): Application => ({
  apiVersion: "argoproj.io/v1alpha1",
  kind: "Application",
  metadata: { name: "shop", namespace: "agent", uid: "u", resourceVersion: "7" },
  spec: { source: { repoURL: "https://git.example/r", path: "a" }, destination: {} },
  status: status as ApplicationStatus,
});
const operation = (phase: string, more: object = {}) => ({
  operationState: {
    phase,
    startedAt: "t1",
    operation: { sync: { revision: "abc" }, initiatedBy: { automated: true } },
    syncResult: { revision: "abc" },
    message: "no",
    ...more,
  },
});
const asked = { operation: { sync: { revision: "abc" }, initiatedBy: { username: "ann" } } };
const some = { operation: { sync: { revision: "abc", resources: [{ kind: "ConfigMap", name: "a" }] } } };
const several = { syncResult: { revisions: ["abc", "def"] } };

const ROWS: [what: string, before: object | undefined, after: object, told: string[]][] = [
  ["nothing", { sync: { status: "Synced" } }, { sync: { status: "Synced" }, reconciledAt: "later" }, []],
  [
    "a first look",
    undefined,
    { sync: { status: "OutOfSync" } },
    ["Normal ResourceUpdated Updated sync status:  -> OutOfSync"],
  ],
  [
    "health",
    { health: { status: "Progressing" } },
    { health: { status: "Healthy" } },
    ["Normal ResourceUpdated Updated health status: Progressing -> Healthy"],
  ],
  ["an automated sync", {}, operation("Running"), ["Normal OperationStarted Initiated automated sync to 'abc'"]],
  ["a sync that somebody asked for", {}, operation("Running", asked), []],
  [
    "its end",
    operation("Running", asked),
    operation("Succeeded", asked),
    ["Normal OperationCompleted Sync operation to abc succeeded"],
  ],
  [
    "its failure",
    operation("Running"),
    operation("Failed"),
    ["Warning OperationCompleted Sync operation to abc failed: no"],
  ],
  ["what was told", operation("Failed"), operation("Failed"), []],
  [
    "a sync of some objects",
    operation("Running", some),
    operation("Succeeded", some),
    ["Normal OperationCompleted Partial sync operation to abc succeeded"],
  ],
  [
    "several sources",
    operation("Running"),
    operation("Succeeded", several),
    ["Normal OperationCompleted Sync operation to abc, def succeeded"],
  ],
  [
    "a sync that began and ended in one look",
    operation("Succeeded", { startedAt: "t0" }),
    operation("Succeeded"),
    [
      "Normal OperationStarted Initiated automated sync to 'abc'",
      "Normal OperationCompleted Sync operation to abc succeeded",
    ],
  ],
  [
    "a deletion that fails",
    {},
    { conditions: [{ type: "DeletionError", message: "refused" }] },
    ["Warning StatusRefreshed Unable to delete application resources: refused"],
  ],
];

test.each(ROWS)("of %s it is told what happened", (_, before, after, told) => {
  expect(eventsBetween(app(before), app(after)).map((one) => `${one.type} ${one.reason} ${one.message}`)).toEqual(told);
});

function writer(answer: (event: KubeObject) => object, reasons?: string) {
  const written: KubeObject[] = [];
  const warned: string[] = [];
  const create = async (_: unknown, event: KubeObject) => {
    written.push(event);
    return answer(event);
  };
  const log = { info: () => {}, error: () => {}, warn: (_: object, message: string) => warned.push(message) };
  const events = new Events({
    client: { create } as unknown as KubeClient,
    log,
    component: "outpost-controller",
    reasons,
  });
  return { events, written, warned };
}
const HAPPENED = ["OperationStarted", "OperationCompleted"].map((reason) => ({
  type: "Normal" as const,
  reason,
  message: "m",
}));
const turn = () => new Promise((resolve) => setImmediate(resolve));

test.each([
  ["all", 2],
  ["none", 0],
  ["OperationCompleted, Other", 1],
])("of the reasons %s so many events are written: %i", async (reasons, count) => {
  const { events, written } = writer(() => done({}), reasons);
  events.tell(app(), HAPPENED);
  await turn();
  expect(written).toHaveLength(count);
});

test("events of one moment have names of their own, and one that is too long is cut", async () => {
  const { events, written } = writer(() => done({}));
  events.tell(app(), [...HAPPENED, { type: "Warning", reason: "R", message: "x".repeat(5_000) }]);
  await turn();
  expect(new Set(written.map(({ metadata }) => metadata.name)).size).toBe(3);
  expect((written[2]!.message as string).length).toBeLessThan(1_024);
});

test("where events may not be written that is told once, and again after it went well", async () => {
  let refuses = true;
  const { events, warned } = writer(() => (refuses ? stop("Forbidden", "no") : done({})));
  events.tell(app(), HAPPENED);
  await turn();
  expect(warned).toEqual(["Kubernetes events cannot be written: no"]);
  refuses = false;
  events.tell(app(), HAPPENED);
  await turn();
  refuses = true;
  events.tell(app(), HAPPENED);
  await turn();
  expect(warned).toHaveLength(2);
});

test("a change without an event does not keep the next one from being written", async () => {
  const { events, written } = writer(() => done({}));
  events.tell(app(), []);
  events.tell(app(), HAPPENED);
  await turn();
  expect(written).toHaveLength(2);
});

test("after the end nothing is written", async () => {
  const { events, written } = writer(() => done({}));
  await events.stop();
  events.tell(app(), HAPPENED);
  await turn();
  expect(written).toEqual([]);
});
