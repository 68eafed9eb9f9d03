import { randomBytes } from "node:crypto";
import { done, type Outcome, stop } from "../../../base/outcome.ts";
import { type Application, sourceOf } from "../../controller/application.ts";
import { covered, dryRun } from "../../controller/compare.ts";
import { normalise, type Target } from "../../controller/normalise.ts";
import { ownerOf } from "../../controller/tracking.ts";
import type { KubeClient } from "../../kube/client.ts";
import { KUBE } from "../../kube/errors.ts";
import { gvkOf, type KubeObject } from "../../kube/object.ts";
import type { Rendered } from "../../repo/types.ts";
import { repositoryAccess, withCluster } from "../reach.ts";
import { masked, toYaml } from "./mask.ts";
import { objectOf, type Read, type TaskContext } from "./task.ts";

// An answer is one result of a task; more text than this is not read by anybody.
const MAX_TEXT = 4 * 1024 * 1024;

export const applicationManifests: Read = async (tc, task) => {
  const app = await objectOf(tc, task, "applications");
  if (app.kind !== "done") return app;
  const { revision } = task.params;
  const rendered = await render(tc, app.value as Application, typeof revision === "string" ? revision : undefined);
  if (rendered.kind !== "done") return rendered;
  const salt = randomBytes(16).toString("hex");
  const manifests = (rendered.value.objects ?? []).map((object) => masked(object, salt));
  if (JSON.stringify(manifests).length > MAX_TEXT)
    return stop("AnswerTooLarge", "the manifests have more than 4 MB; render them with the repository at hand: outpost admin render");
  return done({ revision: rendered.value.revision, sourceType: rendered.value.sourceType, manifests });
};

export const applicationDiff: Read = async (tc, task) => {
  const found = await objectOf(tc, task, "applications");
  if (found.kind !== "done") return found;
  const app = found.value as Application;
  const rendered = await render(tc, app);
  if (rendered.kind !== "done") return rendered;
  return withCluster(tc.ctx, app.spec.destination, async (client): Promise<Outcome<Record<string, unknown>>> => {
    const { targets } = await normalise(
      rendered.value.objects ?? [],
      app.metadata.name,
      app.spec.destination.namespace ?? "",
      (group, version, kind) => client.discovery.find(group, version, kind),
    );
    // Values are compared within one answer only.
    const salt = randomBytes(16).toString("hex");
    const items: Record<string, unknown>[] = [];
    for (const target of targets) {
      if (target.hook) continue;
      const item = await differs(client, target, salt, app);
      if (item.kind !== "done") return item;
      if (item.value) items.push(item.value);
    }
    const wanted = new Set(targets.map((target) => target.key));
    for (const resource of app.status?.resources ?? []) {
      const key = `${resource.group ?? ""}/${resource.kind}/${resource.namespace ?? ""}/${resource.name}`;
      if (wanted.has(key)) continue;
      const kind = await client.discovery.find(resource.group ?? "", resource.version, resource.kind);
      const live = kind.kind === "done" ? await client.get(kind.value, resource.namespace, resource.name) : kind;
      if (live.kind === "done" && ownerOf(live.value) === app.metadata.name)
        items.push(entry(live.value, "delete", { live: toYaml(masked(live.value, salt)) }));
    }
    if (JSON.stringify(items).length > MAX_TEXT) return stop("AnswerTooLarge", "the differences have more than 4 MB");
    return done({ revision: rendered.value.revision, items });
  });
};

async function render({ ctx, repo }: TaskContext, app: Application, revision?: string): Promise<Outcome<Rendered>> {
  const own = sourceOf(app);
  if (!own) return stop("InvalidSpecError", "the application has no source");
  const access = await repositoryAccess(ctx, own.repoURL);
  if (access.kind !== "done") return access;
  const version = await withCluster(ctx, app.spec.destination, (client) => client.json<{ gitVersion?: string }>("GET", "/version"));
  return repo.render({
    app: { name: app.metadata.name, namespace: ctx.namespace, project: app.spec.project || "default" },
    namespace: app.spec.destination.namespace ?? "",
    source: revision ? { ...own, targetRevision: revision } : own,
    repo: access.value,
    freshness: "normal",
    ...(version.kind === "done" && version.value.gitVersion ? { kubeVersion: version.value.gitVersion } : {}),
  });
}

/** One difference, as the API server itself sees it by a dry run. */
async function differs(
  client: KubeClient,
  target: Target,
  salt: string,
  app: Application,
): Promise<Outcome<Record<string, unknown> | undefined>> {
  const desired = () => toYaml(masked(target.object, salt));
  if (!target.resource) return done(entry(target.object, "create", { desired: desired() }));
  const { namespace, name } = target.object.metadata;
  const live = await client.get(target.resource, namespace, name);
  if (live.kind !== "done") return live.reason === KUBE.notFound ? done(entry(target.object, "create", { desired: desired() })) : live;
  if (covered(target.object, live.value)) return done(undefined);
  const same = await dryRun(client, target, live.value);
  // What the server would refuse is a difference too; the sync will say why.
  if (same.kind === "done" && same.value) return done(undefined);
  if (same.kind === "again") return same;
  // The link may not write, not even for a try: then the controller's own verdict counts.
  if (same.kind === "stop" && same.reason === KUBE.forbidden && syncedBefore(app, target)) return done(undefined);
  return done(entry(target.object, "update", { desired: desired(), live: toYaml(masked(live.value, salt)) }));
}

function syncedBefore(app: Application, target: Target): boolean {
  return (app.status?.resources ?? []).some(
    (r) => `${r.group ?? ""}/${r.kind}/${r.namespace ?? ""}/${r.name}` === target.key && r.status === "Synced",
  );
}

function entry(
  object: KubeObject,
  change: "create" | "update" | "delete",
  texts: { desired?: string; live?: string },
): Record<string, unknown> {
  const { group, kind } = gvkOf(object);
  const { namespace, name } = object.metadata;
  return { ...(group ? { group } : {}), kind, ...(namespace ? { namespace } : {}), name, change, ...texts };
}
