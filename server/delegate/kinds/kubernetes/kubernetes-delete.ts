import type { Schemas } from "../../../../openapi/client.ts";
import { validateTaskParamsKubernetesDelete } from "../../../../openapi/contract/validators.js";
import { describe, type KubeObject } from "../../../kube/object.ts";
import { failed, type TaskKindHandler } from "../../kind.ts";
import { refOf } from "./apply.ts";
import { waitUntil } from "./budget.ts";
import { openCluster } from "./cluster.ts";
import { type Deleted, deleteOne, waitGone } from "./delete.ts";
import { explain } from "./explain.ts";
import { readManifests } from "./manifests.ts";
import { targetsOf } from "./targets.ts";

/** Deletes objects, in the order opposite to the one in which they are made, and waits until they are gone. */
export const kubernetesDelete: TaskKindHandler<Schemas["TaskParamsKubernetesDelete"]> = {
  validate: validateTaskParamsKubernetesDelete,
  lacks: async () => undefined,

  async run({ cluster: access, namespace, objects = [], propagation = "foreground", wait = true, ...from }, context) {
    const until = waitUntil(context);
    if (!from.source && from.manifests === undefined && objects.length === 0)
      return failed("ParamsInvalid", "/params: give `objects`, `manifests` or a `source`");
    const read = await readManifests(from, context);
    if (read.kind !== "done") return failed(read.reason, read.message);
    const named = objects.map(({ apiVersion, kind, name, namespace: own }): KubeObject => {
      return { apiVersion, kind, metadata: { name, ...(own ? { namespace: own } : {}) } };
    });
    const all = [...named, ...read.value.filter(({ metadata }) => metadata.name)];
    if (all.length === 0) return failed("NoManifests", "there is no object with a name in the manifests");
    const opened = await openCluster(access, context);
    if (opened.kind !== "done") return failed(opened.reason, opened.message);
    const cluster = opened.value;
    try {
      const targets = await targetsOf(all, namespace ?? cluster.namespace, cluster);
      if (targets.kind !== "done") return failed(targets.reason, targets.message);
      const deleted: Deleted[] = [];
      const outputs = () => ({ objects: deleted.map(({ object, result }) => ({ ...refOf(object), result })) });
      for (const target of targets.value.reverse()) {
        const one = await deleteOne(target, { cluster, propagation, signal: context.signal });
        if (one.kind !== "done") {
          const { reason, message } = explain(one, describe(target.object));
          return failed(reason, message, outputs());
        }
        deleted.push(one.value);
        await context.progress(
          `${describe(one.value.object)} ${one.value.result === "absent" ? "is not there" : "deleted"}`,
        );
      }
      const failure = wait ? await waitGone(deleted, { cluster, context, until }) : undefined;
      return failure
        ? failed(failure.reason, failure.message, outputs())
        : { outcome: "succeeded", outputs: outputs() };
    } finally {
      await cluster.close();
    }
  },
};
