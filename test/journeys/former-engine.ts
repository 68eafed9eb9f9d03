import { parseAllDocuments } from "yaml";
import type { Application, ResourceStatus } from "../../server/agent/controller/application.ts";
import { gvkOf, type KubeObject } from "../../server/kube/object.ts";
import { RESOURCES, type Resource, resourcePath } from "../../server/kube/path.ts";
import { value, type World } from "./engine-world.ts";

/**
 * What Argo CD leaves in a cluster, as `argocd-controller` writes it: objects with the tracking-id and without our label, applied on the client's
 * side with `last-applied-configuration` or on the server's, and Applications with statuses of its own.
 */
export const TRACKING = "argocd.argoproj.io/tracking-id";
export const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";
const MANAGER = "argocd-controller";

export interface Left {
  /** The application's name, its namespace and its repository. */
  name: string;
  manifests: string;
  /** Of each of its repositories the files that make these manifests; without them one file of the first with just these. */
  files?: Record<string, string>[];
  /** What the tracking marks name, where that is not its name. */
  instance?: string;
  tracking?: Tracking;
  serverSide?: boolean;
  spec?: Partial<Application["spec"]>;
  metadata?: Partial<KubeObject["metadata"]>;
  status?: Partial<NonNullable<Application["status"]>>;
  /** What its last sync tells besides. */
  result?: object;
}

/** How an installation marks its objects. */
export type Tracking = "annotation" | "label" | "annotation+label";

interface How {
  serverSide?: boolean;
  instance?: string;
  tracking?: Tracking;
}

/** Applies one object as Argo CD does. */
export async function applyAsArgo(w: World, app: string, given: KubeObject, how: How = {}): Promise<KubeObject> {
  const { serverSide = false, instance = app, tracking = "annotation" } = how;
  const { group, version, kind } = gvkOf(given);
  const resource = await kindOf(w, group, version, kind);
  const namespace = resource.namespaced ? (given.metadata.namespace ?? app) : undefined;
  const marked = kind !== "CustomResourceDefinition";
  const id = `${instance}:${group}/${kind}:${namespace ?? app}/${given.metadata.name}`;
  const annotations = { ...given.metadata.annotations, ...(marked && tracking !== "label" ? { [TRACKING]: id } : {}) };
  const instanceLabel = marked && tracking !== "annotation" ? { "app.kubernetes.io/instance": instance } : undefined;
  const labels = instanceLabel ? { labels: { ...given.metadata.labels, ...instanceLabel } } : {};
  const metadata = { ...given.metadata, ...(namespace ? { namespace } : {}), annotations, ...labels };
  const object = { ...given, metadata };
  if (serverSide)
    return value(
      await w.client.json("PATCH", resourcePath(resource, namespace, metadata.name), {
        body: object,
        contentType: "application/apply-patch+yaml",
        query: { fieldManager: MANAGER, force: true },
      }),
    );
  const text = `${JSON.stringify(object)}\n`;
  const annotated = {
    ...object,
    metadata: { ...metadata, annotations: { ...metadata.annotations, [LAST_APPLIED]: text } },
  };
  return value(
    await w.client.json("POST", resourcePath(resource, namespace), {
      body: annotated,
      query: { fieldManager: MANAGER },
    }),
  );
}

/** A kind that a definition of the same application brings is served a moment later. */
async function kindOf(w: World, group: string, version: string, kind: string): Promise<Resource> {
  let found = await w.client.discovery.find(group, version, kind);
  await w.settled(async () => {
    if (found.kind !== "done") w.client.discovery.forget();
    found = await w.client.discovery.find(group, version, kind);
    return found.kind === "done" && (await w.client.list(found.value)).kind === "done";
  }, `serving ${kind}`);
  return value(found);
}

export const documents = (text: string): KubeObject[] =>
  parseAllDocuments(text)
    .map((document) => document.toJS() as KubeObject)
    .filter(Boolean);

/** An Application that Argo CD has synced, with its objects. No engine runs meanwhile. */
export async function leave(w: World, left: Left): Promise<void> {
  const { name, manifests, files = [{ "app/all.yaml": manifests }], spec = {}, metadata = {} } = left;
  const revisions: string[] = [];
  for (const [i, content] of files.entries()) {
    const repository = await w.git.createRepository(repositoryOf(name, i), { files: content });
    revisions.push((await repository.tip("refs/heads/main"))!);
  }
  await w.client.create(RESOURCES.namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name } });
  const rows: ResourceStatus[] = [];
  for (const object of documents(manifests)) {
    // A hook with a generated name leaves nothing by which it could be found.
    if (!object.metadata.name) continue;
    const applied = await applyAsArgo(w, name, object, left);
    const { group, version, kind } = gvkOf(applied);
    const hook = applied.metadata.annotations?.["argocd.argoproj.io/hook"] !== undefined;
    const namespace = applied.metadata.namespace;
    rows.push({
      ...(group ? { group } : {}),
      version,
      kind,
      ...(namespace ? { namespace } : {}),
      name: applied.metadata.name,
      ...(hook ? { hook: true, requiresPruning: true } : { status: "Synced" as const }),
    });
  }
  const app = await w.app(name, { path: "app", repo: name, ...spec }, metadata);
  const at = new Date(Date.now() - 1_000).toISOString().replace(/\.\d+/, "");
  const { source, sources } = app.spec;
  const from = sources ? { sources } : { source };
  const upTo = sources ? { revisions } : { revision: revisions[0] };
  const status = {
    controllerNamespace: w.namespace,
    sync: { status: "Synced", ...upTo, comparedTo: { ...from, destination: app.spec.destination } },
    health: { status: "Healthy", lastTransitionTime: at },
    resources: rows,
    ...(sources ? {} : { sourceType: "Directory" }),
    reconciledAt: at,
    history: [{ id: 0, ...upTo, ...from, deployStartedAt: at, deployedAt: at, initiatedBy: { automated: true } }],
    operationState: {
      phase: "Succeeded",
      message: "successfully synced (no more tasks)",
      startedAt: at,
      finishedAt: at,
      operation: { sync: { ...upTo, prune: true }, initiatedBy: { automated: true }, retry: { limit: 5 } },
      syncResult: { ...upTo, ...from, resources: [], ...left.result },
    },
    ...left.status,
  };
  value(await w.client.mergePatch(RESOURCES.application, app.metadata.namespace, name, { status }));
}

/** The repository of one of its sources. */
export const repositoryOf = (name: string, source: number): string => (source ? `${name}-${source}` : name);
