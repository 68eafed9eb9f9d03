import type { KubeObject } from "../../../kube/object.ts";
import { act } from "./action.ts";

const app = (annotations: Record<string, string>, more: Partial<KubeObject> = {}): KubeObject => ({
  apiVersion: "argoproj.io/v1alpha1",
  kind: "Application",
  metadata: { name: "a", annotations },
  ...more,
});
const sync = {
  id: "s1",
  by: "eve",
  request: { revision: "v1", prune: true, resources: [{ kind: "ConfigMap", name: "a" }] },
};
const policy = { syncPolicy: { syncOptions: ["CreateNamespace=true"], retry: { limit: 2 } } };

const NOW = new Date("2026-02-03T04:05:06Z");
const entries = [
  { id: 0, revision: "c0", source: { repoURL: "u", path: "old" } },
  { id: 1, revision: "c1", source: { repoURL: "u", path: "new" } },
];
const deployed = (annotations: Record<string, string> = {}, state?: object) =>
  app(annotations, { status: { history: entries, ...(state ? { operationState: state } : {}) } });
const rollback = { id: "b1", by: "eve", request: { id: 0, prune: true } };

test("a rollback is a sync of what the entry deployed, without retries, and names the entry", () => {
  expect(act({ rollback }, deployed(), policy, NOW)).toEqual({
    busy: false,
    annotations: { "outpost.dev/rollback-action": "b1" },
    fields: {
      operation: {
        initiatedBy: { username: "eve" },
        info: [
          { name: "outpost.dev/action", value: "b1" },
          { name: "outpost.dev/rollback", value: "0" },
        ],
        sync: {
          source: { repoURL: "u", path: "old" },
          revision: "c0",
          prune: true,
          syncOptions: ["CreateNamespace=true"],
          syncStrategy: { hook: {} },
        },
      },
    },
  });
});
test("a rollback that cannot be is refused once, with the reason beside the application", () => {
  const refused = (text: string) => ({
    busy: false,
    annotations: {
      "outpost.dev/rollback-action": "b1",
      "outpost.dev/action-refused": `b1 ${NOW.toISOString()} ${text}`,
    },
    fields: {},
  });
  const automated = { syncPolicy: { automated: { prune: true } } };
  expect(act({ rollback }, deployed(), automated, NOW)).toEqual(
    refused("rollback cannot be done while automated sync is on: it would be undone at once"),
  );
  const unknown = { ...rollback, request: { id: 7 } };
  expect(act({ rollback: unknown }, deployed(), {}, NOW)).toEqual(refused("the history has no entry 7; it has 0, 1"));
  expect(act({ rollback }, deployed({ "outpost.dev/rollback-action": "b1" }), automated, NOW)).toMatchObject({
    annotations: {},
    fields: {},
  });
  // An application that is created again does not carry out what was asked of the one before.
  expect(act({ rollback }, undefined, {}, NOW).fields).toEqual({});
});
test("what runs is ended once, and what waits is taken back; a rollback waits for its end", () => {
  const running = { phase: "Running", startedAt: "t" };
  const acted = act({ terminate: { id: "t1" }, rollback }, deployed({}, running), {}, NOW);
  expect(acted).toEqual({
    busy: true,
    annotations: { "outpost.dev/terminate-action": "t1" },
    fields: { status: { history: entries, operationState: { phase: "Terminating", startedAt: "t" } } },
  });
  expect(
    act({ terminate: { id: "t1" } }, deployed({ "outpost.dev/terminate-action": "t1" }, running), {}).fields,
  ).toEqual({});
  expect(act({ terminate: { id: "t1" } }, app({}, { operation: { sync: {} } }), {}).fields).toEqual({
    operation: undefined,
  });
  expect(act({ terminate: { id: "t1" } }, deployed(), {})).toMatchObject({ busy: false, fields: {} });
});

test("a sync becomes an operation with the application's own options", () => {
  expect(act({ sync }, undefined, policy)).toEqual({
    busy: false,
    annotations: { "outpost.dev/action": "s1" },
    fields: {
      operation: {
        initiatedBy: { username: "eve" },
        info: [{ name: "outpost.dev/action", value: "s1" }],
        retry: { limit: 2 },
        sync: {
          revision: "v1",
          prune: true,
          resources: [{ kind: "ConfigMap", name: "a" }],
          syncOptions: ["CreateNamespace=true"],
          syncStrategy: { hook: {} },
        },
      },
    },
  });
});
const FAILED = {
  phase: "Running",
  operation: { sync: {} },
  startedAt: "2026-01-01T00:00:00Z",
  finishedAt: "2026-01-01T00:00:01Z",
  message: "failed. Retrying attempt #1 at 2026-01-01T00:05:00Z.",
};
const table: [string, { given: Parameters<typeof act>; want: ReturnType<typeof act> }][] = [
  ["nothing is asked", { given: [undefined, app({}), {}], want: { annotations: {}, busy: false, fields: {} } }],
  [
    "a sync that was put in before is not put in again",
    { given: [{ sync }, app({ "outpost.dev/action": "s1" }), {}], want: { annotations: {}, busy: false, fields: {} } },
  ],
  [
    "a sync waits for one that is asked for",
    { given: [{ sync }, app({}, { operation: {} }), {}], want: { annotations: {}, busy: true, fields: {} } },
  ],
  [
    "a sync waits for one that runs",
    {
      given: [{ sync }, app({}, { status: { operationState: { phase: "Running" } } }), {}],
      want: { annotations: {}, busy: true, fields: {} },
    },
  ],
  [
    "a sync takes the place of one that failed and waits for its next attempt",
    {
      given: [{ sync: { id: "s1", request: {} } }, app({}, { status: { operationState: FAILED } }), {}],
      want: {
        annotations: { "outpost.dev/action": "s1", "outpost.dev/action-refused": undefined },
        busy: false,
        fields: {
          operation: {
            initiatedBy: { username: "outpost" },
            info: [{ name: "outpost.dev/action", value: "s1" }],
            sync: { syncStrategy: { hook: {} } },
          },
        },
      },
    },
  ],
  [
    "a dry run waits for a sync that still has attempts to come",
    {
      given: [{ sync: { id: "s1", request: { dryRun: true } } }, app({}, { status: { operationState: FAILED } }), {}],
      want: { annotations: {}, busy: true, fields: {} },
    },
  ],
  [
    "a refresh is an annotation",
    {
      given: [{ refresh: { id: "r1", hard: false } }, app({}), {}],
      want: {
        annotations: { "outpost.dev/refresh-action": "r1", "argocd.argoproj.io/refresh": "normal" },
        busy: false,
        fields: {},
      },
    },
  ],
  [
    "a refresh is done once",
    {
      given: [{ refresh: { id: "r1", hard: true } }, app({ "outpost.dev/refresh-action": "r1" }), {}],
      want: { annotations: {}, busy: false, fields: {} },
    },
  ],
  [
    "a normal refresh does not weaken a hard one",
    {
      given: [{ refresh: { id: "r2", hard: false } }, app({ "argocd.argoproj.io/refresh": "hard" }), {}],
      want: {
        annotations: { "outpost.dev/refresh-action": "r2", "argocd.argoproj.io/refresh": "hard" },
        busy: false,
        fields: {},
      },
    },
  ],
];
test.each(table)("%s", (_name, { given, want }) => {
  expect(act(...given)).toEqual(want);
});
