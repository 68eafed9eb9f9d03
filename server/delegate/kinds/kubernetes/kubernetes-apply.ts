import type { Schemas } from "../../../../openapi/client.ts";
import { validateTaskParamsKubernetesApply } from "../../../../openapi/contract/validators.js";
import { describe } from "../../../kube/object.ts";
import { failed, type KindResult, type TaskKindHandler } from "../../kind.ts";
import { type Applied, applyOne, lineOf, refOf } from "./apply.ts";
import { waitUntil } from "./budget.ts";
import { openCluster } from "./cluster.ts";
import { explain } from "./explain.ts";
import { readManifests } from "./manifests.ts";
import { definedKinds, targetsOf } from "./targets.ts";
import { waitReady } from "./wait.ts";

/** Applies manifests by server-side apply, in an order in which they can be made, and waits until they are ready. */
export const kubernetesApply: TaskKindHandler<Schemas["TaskParamsKubernetesApply"]> = {
  validate: validateTaskParamsKubernetesApply,
  // The API is spoken from here: no kubectl.
  lacks: async () => undefined,

  async run({ cluster: access, namespace, force = false, dryRun = false, wait = true, ...from }, context) {
    const until = waitUntil(context);
    if (!from.source && from.manifests === undefined)
      return failed("ParamsInvalid", "/params: give `manifests` or a `source`");
    const read = await readManifests(from, context);
    if (read.kind !== "done") return failed(read.reason, read.message);
    if (read.value.length === 0) return failed("NoManifests", "there is no object in the manifests");
    const opened = await openCluster(access, context);
    if (opened.kind !== "done") return failed(opened.reason, opened.message);
    const cluster = opened.value;
    try {
      const place = namespace ?? cluster.namespace;
      const targets = await targetsOf(read.value, place, cluster);
      if (targets.kind !== "done") return failed(targets.reason, targets.message);
      const applied: Applied[] = [];
      const outputs = () => ({
        objects: applied.map(({ object, result }) => ({ ...refOf(object), result })),
        ...(dryRun ? { dryRun } : {}),
      });
      for (const target of targets.value) {
        if (dryRun && !target.resource) {
          await context.progress(`${describe(target.object)} is not tried: its definition is not in the cluster yet`);
          continue;
        }
        const one = await applyOne(target, { cluster, namespace: place, force, dryRun, signal: context.signal });
        if (one.kind !== "done") {
          const { reason, message } = explain(one, describe(target.object));
          return failed(reason, `${message}${soFar(applied, targets.value.length, dryRun)}`, outputs());
        }
        applied.push(one.value);
        await context.progress(lineOf(one.value, dryRun));
      }
      const result: KindResult = { outcome: "succeeded", outputs: outputs() };
      if (!wait || dryRun) return result;
      const awaited = applied.filter(({ object }) => definedKinds(object).length === 0);
      const failure = await waitReady(awaited, { cluster, context, until });
      return failure ? failed(failure.reason, failure.message, outputs()) : result;
    } finally {
      await cluster.close();
    }
  },
};

const soFar = (applied: readonly Applied[], all: number, dryRun: boolean) =>
  dryRun || all === 1 ? "" : ` (${applied.length} of ${all} objects had been applied; those stay)`;
