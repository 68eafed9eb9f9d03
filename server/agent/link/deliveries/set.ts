import type { Schemas } from "../../../../openapi/client.ts";
import { validateApplicationSetSpec } from "../../../../openapi/contract/validators.js";
import { isTemplated, projectsOfSet } from "../../../../openapi/set-projects.ts";
import { done, later, type Outcome } from "../../../base/outcome.ts";
import { KUBE } from "../../../kube/errors.ts";
import type { KubeObject } from "../../../kube/object.ts";
import { RESOURCES } from "../../../kube/path.ts";
import type { WorkerObject } from "../../../link/exchange.ts";
import { ownerOf } from "../../appset/reconcile/application.ts";
import { APPLICATION_SET } from "../../appset/reconcile/reconcile.ts";
import type { AgentContext } from "../context.ts";
import { nameOf } from "../names.ts";
import { deleteOwn, explainKind, findOwn, goneKind, putManaged } from "./managed.ts";
import { mayUseProject } from "./project.ts";
import { serviceLabels } from "./service-labels.ts";
import { defined } from "./spec.ts";
import { fits } from "./validate-spec.ts";

type Spec = Schemas["ApplicationSetSpec"];
const AGAIN_MS = 1_000;

/** Writes the ApplicationSet of a delivery. */
export async function putApplicationSet(ctx: AgentContext, object: WorkerObject): Promise<Outcome<undefined>> {
  const given = fits<Spec>(validateApplicationSetSpec, object.spec);
  if (given.kind !== "done") return given;
  const spec = toSetSpec(given.value);
  // Values from parameters are checked in each application that the set makes.
  for (const { project } of projectsOfSet(given.value)) {
    if (isTemplated(project)) continue;
    const allowed = await mayUseProject(ctx, object, typeof project === "string" && project ? project : "default");
    if (allowed.kind !== "done") return allowed;
  }
  const written = await putManaged(ctx, APPLICATION_SET, object, () =>
    done({ labels: given.value.labels ?? {}, fields: { spec } }),
  );
  return written.kind === "done" ? done(undefined) : explainKind(written, "ApplicationSet");
}

/**
 * Deletes the ApplicationSet; done when its applications are gone too, which the cluster removes after their owner. With `orphan` what they
 * deployed stays: the set has moved to another agent.
 */
export async function removeApplicationSet(ctx: AgentContext, object: WorkerObject): Promise<Outcome<undefined>> {
  const found = await findOwn(ctx, APPLICATION_SET, object);
  if (found.kind !== "done") return goneKind(found);
  if (found.value) {
    const kept = object.cascade === "orphan" ? await keepResources(ctx, found.value) : done(undefined);
    if (kept.kind !== "done") return kept;
    const deleted = await deleteOwn(ctx, APPLICATION_SET, found.value);
    if (deleted.kind !== "done") return deleted;
  }
  const [name, namespace] = [nameOf(object), object.namespace ?? ctx.namespace];
  // A newer set of the same name has its own applications.
  const newer = await ctx.client.get(APPLICATION_SET, namespace, name);
  if (newer.kind !== "done" && newer.reason !== KUBE.notFound) return goneKind(newer);
  const alive = newer.kind === "done" ? newer.value.metadata.uid : undefined;
  const applications = await ctx.client.list(RESOURCES.application, { namespace });
  if (applications.kind !== "done") return goneKind(applications);
  const left = applications.value.items.filter((app) => {
    const owner = ownerOf(app);
    return owner?.kind === APPLICATION_SET.kind && owner.name === name && owner.uid !== alive;
  });
  if (left.length === 0) return done(undefined);
  return later(AGAIN_MS, "Deleting", `${left.length} applications of ApplicationSet ${name} are being deleted`);
}

/** Removes the finalizers of a set's applications, so that their objects stay. The set is changed first, or its controller would put the finalizers back. */
async function keepResources(ctx: AgentContext, set: KubeObject): Promise<Outcome<undefined>> {
  const { name, uid, namespace = ctx.namespace } = set.metadata;
  const policy = (set.spec as { syncPolicy?: { preserveResourcesOnDeletion?: boolean } } | undefined)?.syncPolicy;
  if (policy?.preserveResourcesOnDeletion !== true) {
    const patch = { metadata: { uid }, spec: { syncPolicy: { preserveResourcesOnDeletion: true } } };
    const patched = await ctx.client.mergePatch(APPLICATION_SET, namespace, name, patch);
    return patched.kind === "done"
      ? later(AGAIN_MS, "Moving", `ApplicationSet ${name} lets its applications keep what they deployed`)
      : patched;
  }
  const applications = await ctx.client.list(RESOURCES.application, { namespace });
  if (applications.kind !== "done") return goneKind(applications);
  const cascading = applications.value.items.filter(
    (app) => ownerOf(app)?.uid === uid && app.metadata.finalizers?.some(deletesResources),
  );
  for (const app of cascading) {
    const finalizers = app.metadata.finalizers!.filter((one) => !deletesResources(one));
    const patch = { metadata: { finalizers, uid: app.metadata.uid, resourceVersion: app.metadata.resourceVersion } };
    const patched = await ctx.client.mergePatch(RESOURCES.application, namespace, app.metadata.name, patch);
    if (patched.kind !== "done" && patched.reason !== KUBE.notFound && patched.reason !== KUBE.conflict) return patched;
  }
  if (cascading.length === 0) return done(undefined);
  return later(
    AGAIN_MS,
    "Moving",
    `${cascading.length} applications of ApplicationSet ${name} are told to keep what they deployed`,
  );
}

const deletesResources = (finalizer: string): boolean =>
  finalizer.split("/")[0] === "resources-finalizer.argocd.argoproj.io";

/** `spec` of an `argoproj.io/v1alpha1` ApplicationSet. */
export function toSetSpec(given: Spec): Record<string, unknown> {
  const { agent: _, labels: __, service: ___, environment: ____, strategy, ...spec } = given;
  const steps = strategy?.rollingSync?.steps?.map((step) => defined({ ...step, maxUpdate: countOf(step.maxUpdate) }));
  const rollingSync = strategy?.rollingSync && defined({ ...strategy.rollingSync, steps });
  const template = withLabels(spec.template, serviceLabels(given));
  return defined({ ...spec, template, strategy: strategy && defined({ ...strategy, rollingSync }) });
}

type Template = Spec["template"];

/** The template with more labels of its applications. */
function withLabels(template: Template, labels: Record<string, string>): Template {
  if (Object.keys(labels).length === 0) return template;
  const metadata = (template.metadata ?? {}) as { labels?: Record<string, string> };
  return { ...template, metadata: { ...metadata, labels: { ...metadata.labels, ...labels } } };
}

/** There a number is a number and only a percentage is a text. */
const countOf = (text: string | undefined) => (text === undefined || text.endsWith("%") ? text : Number(text));
