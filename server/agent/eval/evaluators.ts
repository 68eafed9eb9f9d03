import { actionsOf, runAction } from "../../kube/actions/actions.ts";
import { healthOf } from "../../kube/health/health.ts";
import { gvkOf, type KubeObject, keyOf } from "../../kube/object.ts";
import type { Application } from "../controller/application.ts";
import type { CompareTarget } from "../controller/compare/normalise.ts";
import { retryWait } from "../controller/config/policy.ts";
import { hookOf, waveOf } from "../controller/order.ts";
import { planTasks } from "../controller/tasks.ts";
import { permitsDestination, permitsKind, permitsSource } from "../project/permits.ts";
import { judgeWindows } from "../project/window.ts";
import { appset } from "./appset.ts";
import { evalRender } from "./render.ts";

// biome-ignore lint/suspicious/noExplicitAny: questions come from outside; each suite takes from them what it needs
type Input = any;
/** Answers one question. What it throws is answered as an error: a question may be nonsense. */
export type Suite = (input: Input) => unknown;

const IN_CLUSTER = "https://kubernetes.default.svc";
/** An answer depends on nothing but its question: actions that write the time write this one. */
const ZERO_TIME = new Date("0001-01-01T00:00:00Z");

/** What the engine says of an input, without a cluster and without a service: the same functions that decide in one. */
export const SUITES: Record<string, Suite> = {
  appset,

  health: ({ object }) => {
    const { status = null, message = null } = healthOf(object) ?? {};
    return { status, message };
  },

  actions: ({ object }) => ({ actions: actionsOf(object).map(({ name, disabled }) => ({ name, disabled })) }),

  "action-run": ({ object, action, parameters }) => {
    const ran = runAction(object, action, parameters ?? {}, ZERO_TIME);
    if (ran.kind !== "done") return { error: ran.message };
    if (ran.value.kind === "change") return { output: ran.value.object };
    return { output: ran.value.objects.map((unstructuredObj) => ({ k8sOperation: "create", unstructuredObj })) };
  },

  retry: ({ retry, retryCount }) => {
    const wait = retryWait(retry, retryCount);
    return typeof wait === "string" ? { error: wait } : { waitSeconds: wait / 1_000 };
  },

  "sync-window": ({ windows, app, time }) => {
    const { name = "", server = "", namespace = "" } = app.spec?.destination ?? {};
    const windowed = {
      name: app.metadata.name,
      namespace,
      server: server || (name === "in-cluster" ? IN_CLUSTER : ""),
      clusterName: name,
    };
    const verdict = judgeWindows(windows ?? [], windowed, Date.parse(time));
    if (typeof verdict === "string") return { error: verdict };
    const { matching, canSyncAuto, canSyncManual } = verdict;
    return { matching, canSyncAuto, canSyncManual };
  },

  project: ({
    spec,
    repoURL,
    server,
    clusterName = "",
    namespace = "",
    group = "",
    kind,
    resourceName = "",
    namespaced,
  }) => {
    if (repoURL !== undefined) return { sourcePermitted: permitsSource(spec, repoURL) };
    if (kind !== undefined)
      return { kindPermitted: permitsKind(spec, { group, kind, name: resourceName, namespaced }) };
    return { destinationPermitted: permitsDestination(spec, { server: server ?? "", name: clusterName, namespace }) };
  },

  render: evalRender,

  "sync-order": ({ targets, prunes, pruneLast }) => {
    const app = {
      metadata: { name: "app", namespace: "argocd" },
      spec: {
        destination: { namespace: "app" },
        ...(pruneLast ? { syncPolicy: { syncOptions: ["PruneLast=true"] } } : {}),
      },
    } as Application;
    const run = { operation: { sync: {} }, startedAt: new Date(0).toISOString() };
    const wanted = (targets as KubeObject[]).map(
      (object) => ({ key: keyOf(object), object, hook: hookOf(object), wave: waveOf(object) }) as CompareTarget,
    );
    const extra = ((prunes ?? []) as KubeObject[]).map((object) => ({ object }));
    const order = planTasks({ app, own: app.metadata.namespace ?? "", run }, wanted, extra).map(
      ({ phase, wave, object, prune, hook }) => {
        const { namespace = "", name = "" } = object.metadata;
        return {
          phase,
          wave,
          group: gvkOf(object).group,
          kind: object.kind,
          namespace,
          name,
          prune: prune === true,
          hook,
        };
      },
    );
    return { order };
  },
};
