import type { Schemas } from "../../../../openapi/client.ts";
import { validateTaskParamsKubernetesRollout } from "../../../../openapi/contract/validators.js";
import { done, type Failure, type Outcome, stop } from "../../../base/outcome.ts";
import { describe, type KubeObject } from "../../../kube/object.ts";
import { resourcePath } from "../../../kube/path.ts";
import { failed, type TaskContext, type TaskKindHandler } from "../../kind.ts";
import { waitUntil } from "./budget.ts";
import { type Cluster, FIELD_MANAGER, openCluster } from "./cluster.ts";
import { explain } from "./explain.ts";
import { currentOf, previousOf, revisionsOf, WORKLOADS } from "./revisions.ts";
import { waitReady } from "./wait.ts";

type Params = Schemas["TaskParamsKubernetesRollout"];

/** Looks at, restarts, pauses, resumes or undoes a rollout. */
export const kubernetesRollout: TaskKindHandler<Params> = {
  validate: validateTaskParamsKubernetesRollout,
  lacks: async () => undefined,

  async run(params, context) {
    const until = waitUntil(context);
    const opened = await openCluster(params.cluster, context);
    if (opened.kind !== "done") return failed(opened.reason, opened.message);
    const cluster = opened.value;
    const { kind, name, wait = true } = params;
    const namespace = params.namespace ?? cluster.namespace;
    const what = `apps/${kind} ${namespace}/${name}`;
    const refused = (failure: Failure) => {
      const { reason, message } = explain(failure, what);
      return failed(reason, message);
    };
    try {
      const before = await cluster.client.get(WORKLOADS[kind], namespace, name);
      if (before.kind !== "done") return refused(before);
      const acted = await act(params, before.value, cluster, context);
      if (acted.kind !== "done") return refused(acted);
      const awaits = wait && params.action !== "pause" && !acted.value.spec?.paused;
      const waited = [{ resource: WORKLOADS[kind], object: acted.value }];
      const failure = awaits ? await waitReady(waited, { cluster, context, until }) : undefined;
      const after = await cluster.client.get(WORKLOADS[kind], namespace, name);
      if (after.kind !== "done") return refused(after);
      const revisions = await revisionsOf(cluster, after.value);
      const outputs = {
        revision: currentOf(after.value, revisions.kind === "done" ? revisions.value : []),
        ...counts(after.value),
      };
      await context.progress(
        `${what}: revision ${outputs.revision || "unknown"}, ${outputs.ready} of ${outputs.wanted} ready`,
      );
      return failure ? failed(failure.reason, failure.message, outputs) : { outcome: "succeeded", outputs };
    } finally {
      await cluster.close();
    }
  },
};

async function act(
  { action, toRevision, kind }: Params,
  live: KubeObject,
  cluster: Cluster,
  context: TaskContext,
): Promise<Outcome<KubeObject>> {
  const what = describe(live);
  const paused = Boolean(live.spec?.paused);
  const merge = (patch: unknown) => send(cluster, live, patch, "application/merge-patch+json");
  switch (action) {
    case "status":
      return done(live);
    case "restart": {
      if (paused) return stop("Paused", `${what} is paused; resume it first`);
      const annotations = { "kubectl.kubernetes.io/restartedAt": new Date().toISOString() };
      await context.progress(`restarting ${what}`);
      return merge({ spec: { template: { metadata: { annotations } } } });
    }
    case "pause":
    case "resume": {
      if (kind !== "Deployment") return stop("ParamsInvalid", `only a Deployment can be paused; ${what} is none`);
      const wanted = action === "pause";
      if (paused === wanted) await context.progress(`${what} is ${wanted ? "paused" : "not paused"} already`);
      return paused === wanted ? done(live) : merge({ spec: { paused: wanted || null } });
    }
    case "undo": {
      if (paused) return stop("Paused", `${what} is paused; resume it first`);
      const revisions = await revisionsOf(cluster, live);
      if (revisions.kind !== "done") return revisions;
      const found = previousOf(live, revisions.value, toRevision);
      if (found.kind !== "done") return found;
      await context.progress(
        `${what} goes back from revision ${currentOf(live, revisions.value)} to ${found.value.number}`,
      );
      return send(cluster, live, found.value.patch.body, found.value.patch.contentType);
    }
  }
}

function send(
  { client }: Cluster,
  { kind, metadata }: KubeObject,
  body: unknown,
  contentType: string,
): Promise<Outcome<KubeObject>> {
  const path = resourcePath(WORKLOADS[kind as keyof typeof WORKLOADS], metadata.namespace, metadata.name);
  return client.json("PATCH", path, { body, contentType, query: { fieldManager: FIELD_MANAGER } });
}

function counts({ kind, spec = {}, status = {} }: KubeObject): { ready: number; wanted: number } {
  if (kind === "DaemonSet") return { ready: status.numberReady ?? 0, wanted: status.desiredNumberScheduled ?? 0 };
  return { ready: status.readyReplicas ?? 0, wanted: spec.replicas ?? 1 };
}
