import { parseAllDocuments } from "yaml";
import type { Application, ResourceStatus } from "../../server/agent/controller/application.ts";
import { gvkOf, type KubeObject } from "../../server/kube/object.ts";
import { RESOURCES, resourcePath } from "../../server/kube/path.ts";
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
  serverSide?: boolean;
  spec?: Partial<Application["spec"]>;
  metadata?: Partial<KubeObject["metadata"]>;
  status?: Partial<NonNullable<Application["status"]>>;
}

/** Applies one object as Argo CD does. */
export async function applyAsArgo(w: World, app: string, given: KubeObject, serverSide = false): Promise<KubeObject> {
  const { group, version, kind } = gvkOf(given);
  const resource = value(await w.client.discovery.find(group, version, kind));
  const namespace = resource.namespaced ? (given.metadata.namespace ?? app) : undefined;
  const marks =
    kind === "CustomResourceDefinition" ? {} : { [TRACKING]: `${app}:${group}/${kind}:${namespace ?? app}/${given.metadata.name}` };
  const metadata = { ...given.metadata, ...(namespace ? { namespace } : {}), annotations: { ...given.metadata.annotations, ...marks } };
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
  const annotated = { ...object, metadata: { ...metadata, annotations: { ...metadata.annotations, [LAST_APPLIED]: text } } };
  return value(await w.client.json("POST", resourcePath(resource, namespace), { body: annotated, query: { fieldManager: MANAGER } }));
}

export const documents = (text: string): KubeObject[] =>
  parseAllDocuments(text)
    .map((document) => document.toJS() as KubeObject)
    .filter(Boolean);

/** An Application that Argo CD has synced, with its objects. No engine runs meanwhile. */
export async function leave(w: World, left: Left): Promise<void> {
  const { name, manifests, spec = {}, metadata = {} } = left;
  const repository = await w.git.createRepository(name, { files: { "app/all.yaml": manifests } });
  const revision = (await repository.tip("refs/heads/main"))!;
  await w.client.create(RESOURCES.namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name } });
  const rows: ResourceStatus[] = [];
  for (const object of documents(manifests)) {
    const applied = await applyAsArgo(w, name, object, left.serverSide);
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
  const source = app.spec.source!;
  const status = {
    controllerNamespace: w.namespace,
    sync: { status: "Synced", revision, comparedTo: { source, destination: app.spec.destination } },
    health: { status: "Healthy", lastTransitionTime: at },
    resources: rows,
    sourceType: "Directory",
    reconciledAt: at,
    history: [{ id: 0, revision, source, deployStartedAt: at, deployedAt: at, initiatedBy: { automated: true } }],
    operationState: {
      phase: "Succeeded",
      message: "successfully synced (no more tasks)",
      startedAt: at,
      finishedAt: at,
      operation: { sync: { revision, prune: true }, initiatedBy: { automated: true }, retry: { limit: 5 } },
      syncResult: { revision, source, resources: [] },
    },
    ...left.status,
  };
  value(await w.client.mergePatch(RESOURCES.application, w.namespace, name, { status }));
}
