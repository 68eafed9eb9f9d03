import { readCustomizations } from "../health/custom.ts";
import { Lua } from "../lua/lua.ts";
import type { KubeObject } from "../object.ts";
import { ACTIONS, actionsOf, runAction } from "./actions.ts";
import { offers, runOffer } from "./custom.ts";

const NOW = new Date("2026-02-03T04:05:06.789Z");
const STAMP = "2026-02-03T04:05:06Z";
const object = (
  apiVersion: string,
  kind: string,
  spec: object = {},
  status?: object,
  metadata: object = {},
): KubeObject => ({
  apiVersion,
  kind,
  metadata: { name: "n", namespace: "ns", ...metadata },
  spec,
  ...(status ? { status } : {}),
});
/** `restart, pause!`: a mark after what is disabled. */
const listed = (of: KubeObject): string =>
  actionsOf(of)
    .map(({ name, disabled }) => name + (disabled ? "!" : ""))
    .join(", ");

const rollout = (status: object, spec: object = {}) =>
  object("argoproj.io/v1alpha1", "Rollout", { strategy: { canary: { steps: [{}, {}] } }, ...spec }, status, {
    generation: 3,
  });
const pipeline = (spec: object, metadata: object) =>
  object("numaflow.numaproj.io/v1alpha1", "Pipeline", spec, undefined, metadata);
const RESUME = "numaflow.numaproj.io/allowed-resume-strategies";

const lists: [string, { given: KubeObject; want: string }][] = [
  ["a deployment", { given: object("apps/v1", "Deployment"), want: "restart, pause, resume!, scale" }],
  [
    "a paused deployment",
    { given: object("apps/v1", "Deployment", { paused: true }), want: "restart, pause!, resume, scale" },
  ],
  ["a daemon set", { given: object("apps/v1", "DaemonSet"), want: "restart" }],
  ["a schedule", { given: object("batch/v1", "CronJob"), want: "create-job, suspend" }],
  ["a suspended schedule", { given: object("batch/v1", "CronJob", { suspend: true }), want: "create-job, resume" }],
  ["a running job", { given: object("batch/v1", "Job", {}, { active: 1 }), want: "suspend, terminate" }],
  [
    "a job that has ended",
    { given: object("batch/v1", "Job", {}, { conditions: [{ type: "Complete", status: "True" }] }), want: "" },
  ],
  [
    "a rollout at a pause",
    {
      given: rollout({
        currentPodHash: "b",
        stableRS: "a",
        observedGeneration: "3",
        currentStepIndex: 1,
        pauseConditions: [{}],
      }),
      want: "restart, resume, abort, retry!, promote-full, skip-current-step, pause",
    },
  ],
  [
    "an aborted rollout",
    {
      given: rollout({ currentPodHash: "b", stableRS: "a", observedGeneration: "3", currentStepIndex: 2, abort: true }),
      want: "restart, resume!, abort!, retry, promote-full, skip-current-step!, pause!",
    },
  ],
  [
    "a source of Flux",
    { given: object("source.toolkit.fluxcd.io/v1", "GitRepository"), want: "reconcile, suspend, resume!" },
  ],
  [
    "a suspended one",
    {
      given: object("helm.toolkit.fluxcd.io/v2", "HelmRelease", { suspend: true }),
      want: "reconcile!, suspend!, resume",
    },
  ],
  ["a MongoDB", { given: object("psmdb.percona.com/v1", "PerconaServerMongoDB"), want: "pause, unpause!" }],
  [
    "a paused MongoDB",
    { given: object("psmdb.percona.com/v1", "PerconaServerMongoDB", { pause: true }), want: "pause!, unpause" },
  ],
  ["a scaler", { given: object("keda.sh/v1alpha1", "ScaledObject"), want: "pause, paused-replicas, resume!" }],
  [
    "a scaler held at a number",
    {
      given: object("keda.sh/v1alpha1", "ScaledObject", {}, undefined, {
        annotations: { "autoscaling.keda.sh/paused-replicas": "2" },
      }),
      want: "pause!, paused-replicas, resume",
    },
  ],
  [
    "a secret that is refreshed",
    { given: object("external-secrets.io/v1", "ExternalSecret", { refreshInterval: "1h0m0s" }), want: "refresh" },
  ],
  [
    "a secret that never is",
    { given: object("external-secrets.io/v1", "ExternalSecret", { refreshInterval: "0s" }), want: "refresh!" },
  ],
  [
    "a secret without an interval that follows its object",
    {
      given: object("external-secrets.io/v1", "ExternalSecret", { refreshInterval: 0, refreshPolicy: "OnChange" }),
      want: "refresh",
    },
  ],
  [
    "a secret that is never pushed",
    { given: object("external-secrets.io/v1", "PushSecret", { refreshInterval: "0h" }), want: "push!" },
  ],
  [
    "a paused pipeline that may go on at once",
    {
      given: pipeline({ lifecycle: { desiredPhase: "Paused" } }, { annotations: { [RESUME]: "slow, fast" } }),
      want: "pause!, unpause-gradual, unpause-fast, force-promote!, delete!",
    },
  ],
  [
    "a pipeline of a rollout is not paused by itself",
    {
      given: pipeline({}, { ownerReferences: [{ apiVersion: "v1", kind: "PipelineRollout", name: "r", uid: "u" }] }),
      want: "pause!, unpause-gradual!, unpause-fast!, force-promote!, delete!",
    },
  ],
  [
    "a pull request of which nothing is known yet",
    { given: object("promoter.argoproj.io/v1alpha1", "PullRequest", {}), want: "merge!" },
  ],
  [
    "an open pull request",
    { given: object("promoter.argoproj.io/v1alpha1", "PullRequest", { state: "open" }), want: "merge" },
  ],
  [
    "one instance cannot give way to another",
    {
      given: object("postgresql.cnpg.io/v1", "Cluster", {}, { instancesStatus: { healthy: ["a"] } }),
      want: "restart, reload, promote!, suspend",
    },
  ],
  ["a kind without actions", { given: object("v1", "ConfigMap"), want: "" }],
];
test.each(lists)("what can be done: %s", (_, { given, want }) => {
  expect(listed(given)).toBe(want);
});

test("an action that takes something out makes nothing on the way, and resumes only what is suspended", () => {
  const changed = (given: KubeObject, action: string) => {
    const ran = runAction(given, action, {}, NOW);
    if (ran.kind !== "done" || ran.value.kind !== "change") throw new Error("it changes nothing");
    return ran.value.object;
  };
  const scaler = object("keda.sh/v1alpha1", "ScaledJob");
  expect(changed(scaler, "resume")).toEqual(scaler);
  for (const [apiVersion, kind] of [
    ["batch/v1", "CronJob"],
    ["source.toolkit.fluxcd.io/v1", "HelmChart"],
    ["k8s.mariadb.com/v1alpha1", "MariaDB"],
  ] as const) {
    expect(changed(object(apiVersion, kind, { a: 1 }), "resume")).toEqual(object(apiVersion, kind, { a: 1 }));
    expect(changed(object(apiVersion, kind, { suspend: true }), "resume").spec).toEqual({ suspend: false });
  }
  expect(changed(object("apps/v1", "Deployment", { paused: true }), "resume").spec).toEqual({});
});

const template = { metadata: { annotations: { a: "b" } } };
const runs: [
  string,
  { given: KubeObject; action: string; parameters?: Record<string, string>; want: object; gone?: string },
][] = [
  [
    "restart",
    {
      given: object("apps/v1", "StatefulSet", { template }),
      action: "restart",
      want: {
        spec: { template: { metadata: { annotations: { a: "b", "kubectl.kubernetes.io/restartedAt": STAMP } } } },
      },
    },
  ],
  [
    "scale",
    {
      given: object("apps/v1", "Deployment", { replicas: 1 }),
      action: "scale",
      parameters: { replicas: "6" },
      want: { spec: { replicas: 6 } },
    },
  ],
  [
    "retry takes the abort away",
    {
      given: rollout({ abort: true, phase: "Degraded" }),
      action: "retry",
      want: { status: { phase: "Degraded" } },
      gone: "abort",
    },
  ],
  [
    "skip a step, and its pause",
    {
      given: rollout({ currentStepIndex: 0, pauseConditions: [{}] }),
      action: "skip-current-step",
      want: { status: { currentStepIndex: 1 } },
      gone: "pauseConditions",
    },
  ],
  [
    "promote in full",
    { given: rollout({ observedGeneration: "3" }), action: "promote-full", want: { status: { promoteFull: true } } },
  ],
  [
    "promote an old rollout in full",
    {
      given: rollout({ observedGeneration: "5d9f8c" }),
      action: "promote-full",
      want: { status: { currentStepIndex: 2 } },
    },
  ],
  [
    "reconcile",
    {
      given: object("kustomize.toolkit.fluxcd.io/v1", "Kustomization"),
      action: "reconcile",
      want: { metadata: { annotations: { "reconcile.fluxcd.io/requestedAt": "By Argo CD at: 2026-02-03T04:05:06" } } },
    },
  ],
  [
    "the next instance becomes primary",
    {
      given: object(
        "postgresql.cnpg.io/v1",
        "Cluster",
        {},
        { currentPrimary: "n-2", instancesStatus: { healthy: ["n-1", "n-2"] } },
      ),
      action: "promote",
      parameters: { instance: "any" },
      want: { status: { targetPrimary: "n-1", targetPrimaryTimestamp: STAMP, phaseReason: "Switching over to n-1" } },
    },
  ],
  [
    "automated sync goes off and on",
    {
      given: object("argoproj.io/v1alpha1", "Application", { syncPolicy: { automated: { prune: true } } }),
      action: "toggle-auto-sync",
      want: { spec: { syncPolicy: { automated: { prune: true, enabled: false } } } },
    },
  ],
];
test.each(runs)("%s", (_, { given, action, parameters = {}, want, gone }) => {
  const before = structuredClone(given);
  const ran = runAction(given, action, parameters, NOW);
  expect(ran).toMatchObject({ kind: "done", value: { kind: "change", object: want } });
  if (gone) expect(ran).not.toHaveProperty(`value.object.status.${gone}`);
  expect(given).toEqual(before);
});

test("a job is made as its schedule would make it", () => {
  const jobTemplate = { metadata: { labels: { l: "1" } }, spec: { template: { spec: { containers: [] } } } };
  const given = object("batch/v1", "CronJob", { jobTemplate }, undefined, { uid: "u" });
  const ran = runAction(given, "create-job", {}, NOW);
  expect(ran).toMatchObject({
    value: {
      kind: "create",
      objects: [
        {
          kind: "Job",
          metadata: {
            name: "n-1770091506",
            namespace: "ns",
            labels: { l: "1" },
            annotations: { "cronjob.kubernetes.io/instantiate": "manual" },
            ownerReferences: [{ kind: "CronJob", name: "n", uid: "u", controller: true, blockOwnerDeletion: true }],
          },
          spec: jobTemplate.spec,
        },
      ],
    },
  });
});

const refusals: [string, { given: KubeObject; action: string; parameters?: Record<string, string>; want: string }][] = [
  [
    "a word for a number",
    {
      given: object("apps/v1", "Deployment"),
      action: "scale",
      parameters: { replicas: "many" },
      want: "invalid number: many",
    },
  ],
  [
    "a number below nothing",
    {
      given: object("apps/v1", "Deployment"),
      action: "scale",
      parameters: { replicas: "-1" },
      want: "invalid number: -1",
    },
  ],
  ["no number", { given: object("apps/v1", "Deployment"), action: "scale", want: "replicas parameter is required" }],
  [
    "an action that is not there",
    {
      given: object("apps/v1", "DaemonSet"),
      action: "fly",
      want: 'apps/DaemonSet ns/n has no action "fly"; there are restart',
    },
  ],
];
test.each(refusals)("refused with words: %s", (_, { given, action, parameters = {}, want }) => {
  expect(runAction(given, action, parameters, NOW)).toMatchObject({ kind: "stop", message: want });
});

test("every action runs on the poorest object of its kind without breaking", () => {
  for (const [key, actions] of Object.entries(ACTIONS)) {
    const [group, kind] = key.split("/") as [string, string];
    for (const { name } of actions) {
      const ran = runAction({ apiVersion: `${group}/v1`, kind, metadata: { name: "n" } }, name, {}, NOW);
      expect([key, name, ["done", "stop"].includes(ran.kind)]).toEqual([key, name, true]);
    }
    expect(() => actionsOf({ apiVersion: `${group}/v1`, kind, metadata: { name: "n" } })).not.toThrow();
  }
});

describe("actions of users, in Lua", () => {
  const lua = new Lua({ timeoutMs: 2_000 });
  afterAll(() => lua.close());
  const text = (merge: boolean) => `
mergeBuiltinActions: ${merge}
discovery.lua: |
  return { shout = { disabled = obj.spec.loud == true }, pause = {} }
definitions:
- name: shout
  action.lua: |
    obj.spec.words = string.upper(actionParams.words)
    return obj
- name: twin
  action.lua: |
    return {{ operation = "create", resource = { apiVersion = "v1", kind = "ConfigMap", metadata = { name = obj.metadata.name .. "-2" } } }}
- name: broken
  action.lua: error("no", 0)
`;
  const custom = (merge: boolean) =>
    readCustomizations({ "resource.customizations.actions.apps_Deployment": text(merge) });
  const deployment = object("apps/v1", "Deployment", {
    loud: true,
    empty: {},
    none: [],
    template: { metadata: { creationTimestamp: null } },
  });

  test("replace ours, or stand before them", async () => {
    expect(await offers(deployment, custom(false), lua)).toMatchObject({
      value: expect.arrayContaining([
        { name: "shout", disabled: true },
        { name: "pause", disabled: false },
      ]),
    });
    const merged = await offers(deployment, custom(true), lua);
    expect(merged.kind === "done" && merged.value.map(({ name }) => name).sort()).toEqual([
      "pause",
      "restart",
      "resume",
      "scale",
      "shout",
    ]);
  });

  test("change the object, and leave what is empty as it was", async () => {
    const ran = await runOffer(deployment, "shout", { words: "hi" }, NOW, custom(false), lua);
    expect(ran).toEqual({
      kind: "done",
      value: { kind: "change", object: { ...deployment, spec: { ...deployment.spec, words: "HI" } } },
    });
  });

  test("make others, fail with words, and give way to ours", async () => {
    expect(await runOffer(deployment, "twin", {}, NOW, custom(false), lua)).toMatchObject({
      value: { kind: "create", objects: [{ metadata: { name: "n-2" } }] },
    });
    expect(await runOffer(deployment, "broken", {}, NOW, custom(false), lua)).toMatchObject({
      kind: "stop",
      message: "the action's script failed: no",
    });
    expect(await runOffer(deployment, "restart", {}, NOW, custom(true), lua)).toMatchObject({ kind: "done" });
    expect(await runOffer(deployment, "restart", {}, NOW, custom(false), lua)).toMatchObject({ kind: "stop" });
  });
});
