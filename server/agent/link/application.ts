import type { Schemas } from "../../../openapi/client.ts";
import { validateApplicationSpec } from "../../../openapi/contract/validators.js";
import { done, later, type Outcome, stop } from "../../base/outcome.ts";
import type { WorkerObject } from "../../link/exchange.ts";
import { KUBE } from "../kube/errors.ts";
import type { KubeObject } from "../kube/object.ts";
import { RESOURCES } from "../kube/path.ts";
import { act } from "./action.ts";
import type { Context } from "./context.ts";
import { type Content, deleteOwn, findOwn, putManaged } from "./managed.ts";
import { toApplicationSpec } from "./spec.ts";

// As Argo CD names them; the bare one means foreground.
const FINALIZER = "resources-finalizer.argocd.argoproj.io";
const CASCADE: Record<string, string | undefined> = { foreground: FINALIZER, background: `${FINALIZER}/background`, orphan: undefined };

/** Writes the Application of a delivery, and puts its sync or refresh beside it. */
export async function putApplication(ctx: Context, object: WorkerObject): Promise<Outcome<undefined>> {
  if (!validateApplicationSpec(object.spec)) {
    const fault = validateApplicationSpec.errors?.[0];
    return stop(
      "SpecInvalid",
      `the specification does not fit this agent's contract: ${fault?.instancePath ?? ""} ${fault?.message ?? ""}; upgrade the agent`,
    );
  }
  const given: Schemas["ApplicationSpec"] = object.spec;
  const spec = toApplicationSpec(given, object.resolved);
  if (spec.kind !== "done") return spec;
  let busy = false;
  const build = (existing: KubeObject | undefined): Outcome<Content> => {
    const acted = act(object.action, existing, spec.value);
    busy = acted.busy;
    return done({
      labels: given.labels ?? {},
      annotations: acted.annotations,
      finalizers: [FINALIZER],
      fields: { spec: spec.value, ...(acted.operation ? { operation: acted.operation } : {}) },
    });
  };
  const written = await putManaged(ctx, RESOURCES.application, object, build);
  if (written.kind !== "done") return explain(written);
  return busy ? later(500, "OperationRunning", "the sync waits until the operation that runs has ended") : done(undefined);
}

/** Deletes the Application with or without what it deployed; done when it is really gone. */
export async function removeApplication(ctx: Context, object: WorkerObject): Promise<Outcome<undefined>> {
  const found = await findOwn(ctx, RESOURCES.application, object);
  if (found.kind !== "done") return found.reason === KUBE.kindNotFound ? done(undefined) : found;
  if (!found.value) return done(undefined);
  const own = found.value;
  const wanted = CASCADE[object.cascade ?? "foreground"];
  const others = (own.metadata.finalizers ?? []).filter((finalizer) => finalizer.split("/")[0] !== FINALIZER);
  const present = (own.metadata.finalizers ?? []).filter((finalizer) => !others.includes(finalizer));
  // Once it is being deleted, Kubernetes lets a finalizer go but none come.
  const mayAdd = own.metadata.deletionTimestamp === undefined;
  const next = [...others, ...(wanted && (mayAdd || present.includes(wanted)) ? [wanted] : wanted ? present : [])];
  if (next.join() !== (own.metadata.finalizers ?? []).join()) {
    const patch = { metadata: { finalizers: next, uid: own.metadata.uid, resourceVersion: own.metadata.resourceVersion } };
    const patched = await ctx.client.mergePatch(RESOURCES.application, ctx.namespace, own.metadata.name, patch);
    if (patched.kind !== "done" && patched.reason !== KUBE.notFound)
      return patched.reason === KUBE.conflict ? later(100, patched.reason, patched.message) : patched;
  }
  return deleteOwn(ctx, RESOURCES.application, own);
}

function explain<T extends { kind: string; reason: string; message: string }>(failure: T): T {
  if (failure.reason !== KUBE.kindNotFound) return failure;
  return {
    ...failure,
    reason: "CrdMissing",
    message: "the cluster does not have the kind Application of argoproj.io: install the agent's CRDs, or Argo CD",
  };
}
