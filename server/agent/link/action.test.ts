import type { KubeObject } from "../kube/object.ts";
import { act } from "./action.ts";

const app = (annotations: Record<string, string>, more: Partial<KubeObject> = {}): KubeObject => ({
  apiVersion: "argoproj.io/v1alpha1",
  kind: "Application",
  metadata: { name: "a", annotations },
  ...more,
});
const sync = { id: "s1", by: "eve", request: { revision: "v1", prune: true, resources: [{ kind: "ConfigMap", name: "a" }] } };
const policy = { syncPolicy: { syncOptions: ["CreateNamespace=true"], retry: { limit: 2 } } };

test("a sync becomes an operation with the application's own options", () => {
  expect(act({ sync }, undefined, policy)).toEqual({
    busy: false,
    annotations: { "outpost.dev/action": "s1" },
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
  });
});
const table: [string, { given: Parameters<typeof act>; want: ReturnType<typeof act> }][] = [
  ["nothing is asked", { given: [undefined, app({}), {}], want: { annotations: {}, busy: false } }],
  [
    "a sync that was put in before is not put in again",
    { given: [{ sync }, app({ "outpost.dev/action": "s1" }), {}], want: { annotations: {}, busy: false } },
  ],
  ["a sync waits for one that is asked for", { given: [{ sync }, app({}, { operation: {} }), {}], want: { annotations: {}, busy: true } }],
  [
    "a sync waits for one that runs",
    { given: [{ sync }, app({}, { status: { operationState: { phase: "Running" } } }), {}], want: { annotations: {}, busy: true } },
  ],
  [
    "a refresh is an annotation",
    {
      given: [{ refresh: { id: "r1", hard: false } }, app({}), {}],
      want: { annotations: { "outpost.dev/refresh-action": "r1", "argocd.argoproj.io/refresh": "normal" }, busy: false },
    },
  ],
  [
    "a refresh is done once",
    {
      given: [{ refresh: { id: "r1", hard: true } }, app({ "outpost.dev/refresh-action": "r1" }), {}],
      want: { annotations: {}, busy: false },
    },
  ],
  [
    "a normal refresh does not weaken a hard one",
    {
      given: [{ refresh: { id: "r2", hard: false } }, app({ "argocd.argoproj.io/refresh": "hard" }), {}],
      want: { annotations: { "outpost.dev/refresh-action": "r2", "argocd.argoproj.io/refresh": "hard" }, busy: false },
    },
  ],
];
test.each(table)("%s", (_name, { given, want }) => {
  expect(act(...given)).toEqual(want);
});
