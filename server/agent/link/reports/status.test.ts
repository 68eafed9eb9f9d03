import type { KubeObject } from "../../../kube/object.ts";
import { speaksOfNewest, toStatus } from "./status.ts";

const source = { repoURL: "https://git.example.com/a.git", path: "x" };
const destination = { server: "https://kubernetes.default.svc" };
const app = (status: unknown, more: Partial<KubeObject> = {}): KubeObject => ({
  apiVersion: "argoproj.io/v1alpha1",
  kind: "Application",
  metadata: { name: "a", annotations: { "outpost.dev/generation": "7" } },
  spec: { source, destination },
  status,
  ...more,
});

const newest: [string, { given: unknown; want: boolean }][] = [
  ["no status", { given: undefined, want: false }],
  ["our controller's echo", { given: { observedGeneration: 7 }, want: true }],
  ["our controller's echo of an older one", { given: { observedGeneration: 6 }, want: false }],
  [
    "a look that is under way",
    { given: { observedGeneration: 7, conditions: [{ type: "Reconciling" }] }, want: false },
  ],
  ["Argo CD's comparison with this", { given: { sync: { comparedTo: { source, destination } } }, want: true }],
  [
    "Argo CD's comparison with another path",
    { given: { sync: { comparedTo: { source: { ...source, path: "y" }, destination } } }, want: false },
  ],
  [
    "Argo CD's comparison with another destination",
    { given: { sync: { comparedTo: { source, destination: { name: "b" } } } }, want: false },
  ],
  [
    "Argo CD's refusal of the specification",
    { given: { conditions: [{ type: "InvalidSpecError", message: "no" }] }, want: true },
  ],
];
test.each(newest)("%s", (_name, { given, want }) => {
  expect(speaksOfNewest(app(given))).toBe(want);
});

const operation = {
  info: [{ name: "outpost.dev/action", value: "act1" }],
  initiatedBy: { username: "eve" },
  sync: { revision: "v2" },
};
const table: [string, { given: KubeObject; want: Record<string, unknown> }][] = [
  ["nothing at all", { given: app(undefined), want: { conditions: [], resources: [], history: [] } }],
  [
    "what a controller says",
    {
      given: app({
        observedGeneration: 7,
        sync: { status: "OutOfSync", revision: "abc", comparedTo: { source, destination } },
        health: { status: "Degraded", lastTransitionTime: "2026-01-01T00:00:00Z" },
        conditions: [{ type: "SyncError", message: "no", lastTransitionTime: "2026-01-01T00:00:00Z" }],
        resources: [
          {
            group: "apps",
            version: "v1",
            kind: "Deployment",
            namespace: "web",
            name: "a",
            status: "OutOfSync",
            health: { status: "Degraded", message: "0 of 1" },
            requiresPruning: true,
            requiresDeletionConfirmation: true,
          },
        ],
        history: [
          { id: 3, revision: "abc", deployedAt: "2026-01-01T00:00:00Z", source, initiatedBy: { automated: true } },
          {
            id: 4,
            revision: "abd",
            deployedAt: "2026-01-01T00:00:00Z",
            source,
            initiatedBy: { username: "eve" },
            cause: "Rollback",
          },
        ],
        summary: {
          images: ["web:1"],
          externalURLs: ["https://shop.example/"],
          workloads: [
            {
              group: "apps",
              kind: "Deployment",
              namespace: "web",
              name: "a",
              images: ["web:1", 7],
              ready: 1,
              total: 2,
              more: 1,
            },
            { kind: "Pod", name: "b", ready: "one", total: 1 },
            "nonsense",
          ],
        },
        sourceType: "Helm",
        reconciledAt: "2026-01-01T00:00:00Z",
      }),
      want: {
        observedGeneration: 7,
        sync: { status: "OutOfSync", revision: "abc" },
        health: { status: "Degraded" },
        conditions: [
          {
            type: "SyncError",
            status: "True",
            reason: "SyncError",
            message: "no",
            lastTransitionTime: "2026-01-01T00:00:00Z",
          },
        ],
        resources: [
          {
            group: "apps",
            version: "v1",
            kind: "Deployment",
            namespace: "web",
            name: "a",
            status: "OutOfSync",
            health: "Degraded",
            message: "0 of 1",
            requiresPruning: true,
            requiresDeletionConfirmation: true,
          },
        ],
        history: [
          {
            id: 3,
            revision: "abc",
            deployedAt: "2026-01-01T00:00:00Z",
            source,
            initiatedBy: "automated",
            cause: "Automated",
          },
          { id: 4, revision: "abd", deployedAt: "2026-01-01T00:00:00Z", source, initiatedBy: "eve", cause: "Rollback" },
        ],
        images: ["web:1"],
        instances: {
          ready: 1,
          total: 3,
          workloads: [
            { group: "apps", kind: "Deployment", namespace: "web", name: "a", images: ["web:1"], ready: 1, total: 2 },
            { kind: "Pod", name: "b", ready: 0, total: 1 },
          ],
        },
        externalUrls: ["https://shop.example/"],
        sourceType: "Helm",
        reconciledAt: "2026-01-01T00:00:00Z",
      },
    },
  ],
  [
    "a sync that waits for the controller",
    {
      given: app({}, { operation }),
      want: {
        operation: { id: "act1", phase: "Pending", initiatedBy: "eve", revision: "v2", cause: "Manual" },
        conditions: [],
        resources: [],
        history: [],
      },
    },
  ],
  [
    "a rollback that could not be begun, until something else is",
    {
      given: app(
        { operationState: { operation, phase: "Succeeded", startedAt: "2026-01-01T00:00:00Z" } },
        {
          metadata: {
            name: "a",
            annotations: { "outpost.dev/action-refused": "b1 2026-01-01T00:00:01.000Z the history has no entry 7" },
          },
        },
      ),
      want: {
        operation: {
          id: "b1",
          phase: "Error",
          message: "the history has no entry 7",
          cause: "Rollback",
          finishedAt: "2026-01-01T00:00:01.000Z",
        },
        conditions: [],
        resources: [],
        history: [],
      },
    },
  ],
  [
    "what ran after a rollback that could not be begun",
    {
      given: app(
        {
          operationState: {
            operation: { initiatedBy: { automated: true } },
            phase: "Succeeded",
            startedAt: "2026-01-01T00:00:02Z",
          },
        },
        { metadata: { name: "a", annotations: { "outpost.dev/action-refused": "b1 2026-01-01T00:00:01.000Z no" } } },
      ),
      want: {
        operation: {
          phase: "Succeeded",
          initiatedBy: "automated",
          cause: "Automated",
          startedAt: "2026-01-01T00:00:02Z",
        },
        conditions: [],
        resources: [],
        history: [],
      },
    },
  ],
  [
    "a sync that runs",
    {
      given: app({
        operationState: {
          operation,
          phase: "Running",
          startedAt: "2026-01-01T00:00:00Z",
          syncResult: { revision: "def" },
        },
      }),
      want: {
        operation: {
          id: "act1",
          phase: "Running",
          revision: "def",
          initiatedBy: "eve",
          cause: "Manual",
          startedAt: "2026-01-01T00:00:00Z",
        },
        conditions: [],
        resources: [],
        history: [],
      },
    },
  ],
  [
    "words that the contract does not have",
    {
      given: app({ sync: { status: "Odd" }, health: { status: 3 }, resources: "none" }),
      want: { sync: { status: "Unknown" }, health: { status: "Unknown" }, conditions: [], resources: [], history: [] },
    },
  ],
];
test.each(table)("tells %s", (_name, { given, want }) => {
  expect(toStatus(given)).toEqual(want);
});

test("a source in the history keeps what makes it out, and no values that make every report long", () => {
  const long = { ...source, helm: { values: "x".repeat(9_000), releaseName: "web" } };
  const entry = { id: 0, deployedAt: "2026-01-01T00:00:00Z", images: ["web:1"] };
  const history = [
    { ...entry, source: long },
    { ...entry, source: { ...source, path: "y".repeat(9_000) } },
    { ...entry, sources: [source, long] },
  ];
  const short = { ...source, helm: { releaseName: "web" } };
  expect(toStatus(app({ history })).history).toEqual([
    { ...entry, source: short },
    entry,
    { ...entry, sources: [source, short] },
  ]);
});
