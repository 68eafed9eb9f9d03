import type { Schemas } from "../../../../openapi/client.ts";
import { validateAppProjectSpec } from "../../../../openapi/contract/validators.js";
import { again, done, type Outcome, stop } from "../../../base/outcome.ts";
import { KUBE } from "../../../kube/errors.ts";
import type { KubeObject } from "../../../kube/object.ts";
import { RESOURCES } from "../../../kube/path.ts";
import type { WorkerObject } from "../../../link/exchange.ts";
import { ALLOWED_SCOPES, sharesWith, sharingOf, WITHIN } from "../../project/tenant.ts";
import type { AgentContext } from "../context.ts";
import { tenantOfDelivery } from "../names.ts";
import { deleteOwn, explainKind, findOwn, goneKind, putManaged } from "./managed.ts";
import { defined } from "./spec.ts";
import { fits } from "./validate-spec.ts";

type Spec = Schemas["AppProjectSpec"];
// As many as a person wants to read.
const NAMED = 5;

/** Writes the AppProject of a delivery. */
export async function putAppProject(ctx: AgentContext, object: WorkerObject): Promise<Outcome<undefined>> {
  const given = fits<Spec>(validateAppProjectSpec, object.spec);
  if (given.kind !== "done") return given;
  const { within, allowedScopes } = given.value;
  if (within && !object.resolved?.within)
    return stop(
      "ProjectNotResolved",
      `it is within app project "${within}", which the service did not resolve: look whether it still exists`,
    );
  const spec = toProjectSpec(given.value);
  const annotations = { [ALLOWED_SCOPES]: allowedScopes?.join(","), [WITHIN]: object.resolved?.within };
  const written = await putManaged(ctx, RESOURCES.appProject, object, () =>
    done({ labels: given.value.labels ?? {}, annotations, fields: { spec } }),
  );
  return written.kind === "done" ? done(undefined) : explainKind(written, "AppProject");
}

/** Deletes the AppProject, unless an application is still under it: without its project it can neither be synced nor deleted. */
export async function removeAppProject(ctx: AgentContext, object: WorkerObject): Promise<Outcome<undefined>> {
  const found = await findOwn(ctx, RESOURCES.appProject, object);
  if (found.kind !== "done") return goneKind(found);
  if (!found.value) return done(undefined);
  const { name } = found.value.metadata;
  const applications = await ctx.client.list(RESOURCES.application, { namespace: ctx.namespace });
  if (applications.kind !== "done") return applications;
  const under = (app: KubeObject) => app.spec?.project === name;
  const users = applications.value.items.filter(under).map((app) => app.metadata.name);
  if (found.value.spec?.sourceNamespaces?.length) {
    // Elsewhere only those count that our controller works on; without the right to look there, nothing is known of them.
    const all = await ctx.client.list(RESOURCES.application);
    if (all.kind !== "done" && all.reason !== KUBE.forbidden) return all;
    const ours = (app: KubeObject) =>
      app.metadata.namespace !== ctx.namespace && app.status?.controllerNamespace === ctx.namespace;
    const others = all.kind === "done" ? all.value.items.filter((app) => under(app) && ours(app)) : [];
    users.push(...others.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`));
  }
  if (users.length) {
    const shown = users.slice(0, NAMED).join(", ");
    return stop(
      "InUse",
      `AppProject ${name} still has applications: ${shown}${users.length > NAMED ? ` and ${users.length - NAMED} more` : ""}; delete them or move them to another project`,
    );
  }
  return deleteOwn(ctx, RESOURCES.appProject, found.value);
}

/**
 * Whether a delivery of a tenant may name a project, before anything is written. The service refuses it already: this is for what it stored
 * before the project was closed, and for a service that is not what it was. What limits the project is for the controller to judge.
 */
export async function mayUseProject(
  ctx: AgentContext,
  object: WorkerObject,
  project: string,
): Promise<Outcome<undefined>> {
  const tenant = tenantOfDelivery(object);
  if (tenant === undefined) return done(undefined);
  const found = await ctx.client.get(RESOURCES.appProject, ctx.namespace, project);
  if (found.kind !== "done" && found.reason !== KUBE.notFound) return explainKind(found, "AppProject");
  if (found.kind === "done" && sharesWith(sharingOf(found.value), tenant)) return done(undefined);
  const message = `scope ${tenant.replace(/\/-$/, "")} may not use AppProject ${project}: name an app project of this scope or of one above, or have its allowedScopes list this scope`;
  // A project that comes with the same answer of the service may be written a moment later.
  return found.kind === "done" || project === "default"
    ? stop("ProjectNotAllowed", message)
    : again("ProjectNotAllowed", message);
}

/** `spec` of an `argoproj.io/v1alpha1` AppProject. */
export function toProjectSpec({
  agent: _,
  labels: __,
  allowedScopes: ___,
  within: ____,
  ...spec
}: Spec): Record<string, unknown> {
  // There the group of the core has to be named, as an empty text.
  const kinds = (list: { group?: string }[] | undefined) => list?.map((one) => ({ ...one, group: one.group ?? "" }));
  return defined({
    ...spec,
    clusterResourceWhitelist: kinds(spec.clusterResourceWhitelist),
    clusterResourceBlacklist: kinds(spec.clusterResourceBlacklist),
    namespaceResourceWhitelist: kinds(spec.namespaceResourceWhitelist),
    namespaceResourceBlacklist: kinds(spec.namespaceResourceBlacklist),
  });
}
