import type { Schemas } from "../../../../openapi/client.ts";
import { HOME_NAME } from "../../../base/cloud/home-cluster.ts";
import { done, type Outcome, stop } from "../../../base/outcome.ts";
import type { WorkerObject } from "../../../link/exchange.ts";
import { projectOf } from "./validate-spec.ts";

type Spec = Schemas["ApplicationSpec"];
type Source = Schemas["ApplicationSource"];

/** Turns the contract's ApplicationSpec into `spec` of an `argoproj.io/v1alpha1` Application. */
export function toApplicationSpec(spec: Spec, resolved: WorkerObject["resolved"]): Outcome<Record<string, unknown>> {
  const given = spec.sources ?? (spec.source ? [spec.source] : []);
  const sources: Record<string, unknown>[] = [];
  for (const [i, source] of given.entries()) {
    const repoURL = resolved?.repositories?.[i] ?? source.repoUrl;
    if (!repoURL)
      return stop(
        "RepositoryNotResolved",
        `source ${i} names repository "${source.repository ?? ""}", whose address the service did not send: look whether it still exists`,
      );
    sources.push(toSource(source, repoURL));
  }
  const destination = toDestination(spec, resolved);
  if (destination.kind !== "done") return destination;
  const project = projectOf(spec, resolved);
  if (project.kind !== "done") return project;
  return done(
    defined({
      project: project.value ?? spec.argoProject ?? "default",
      source: spec.sources ? undefined : sources[0],
      sources: spec.sources ? sources : undefined,
      destination: destination.value,
      syncPolicy: toSyncPolicy(spec.syncPolicy),
      ignoreDifferences: spec.ignoreDifferences?.length
        ? spec.ignoreDifferences.map((rule) => defined({ ...rule }))
        : undefined,
      info: spec.info?.length ? spec.info : undefined,
      revisionHistoryLimit: spec.revisionHistoryLimit,
    }),
  );
}

function toSource(source: Source, repoURL: string): Record<string, unknown> {
  const { repository: _, repoUrl: __, directory, helm, kustomize, targetRevision, ...same } = source;
  return defined({
    repoURL,
    ...same,
    // A chart's version has no default: the newest is meant. For Git the default branch is called HEAD.
    targetRevision: targetRevision ?? (source.chart ? "*" : "HEAD"),
    directory: directory && defined({ ...directory }),
    helm: helm && defined({ ...helm }),
    kustomize: kustomize && defined({ ...kustomize }),
  });
}

function toDestination(spec: Spec, resolved: WorkerObject["resolved"]): Outcome<Record<string, unknown>> {
  const { cluster, namespace } = spec.destination;
  // A reserved name: an address could be claimed by a registered cluster.
  if (!cluster) return done(defined({ name: HOME_NAME, namespace }));
  const { name, server } = resolved?.cluster ?? {};
  // By name where there is one: two registrations of one address stay two. Argo CD refuses both at once.
  if (name) return done(defined({ name, namespace }));
  if (server) return done(defined({ server, namespace }));
  return stop(
    "ClusterNotResolved",
    `the destination names cluster "${cluster}", which the service did not resolve: look whether it still exists`,
  );
}

function toSyncPolicy(policy: Spec["syncPolicy"]): Record<string, unknown> | undefined {
  if (!policy) return undefined;
  const { automated, syncOptions, retry, managedNamespaceMetadata } = policy;
  const out = defined({
    automated: automated && defined({ ...automated }),
    syncOptions: syncOptions?.length ? syncOptions : undefined,
    retry: retry && defined({ ...retry, backoff: retry.backoff && defined({ ...retry.backoff }) }),
    managedNamespaceMetadata: managedNamespaceMetadata && defined({ ...managedNamespaceMetadata }),
  });
  return Object.keys(out).length ? out : undefined;
}

/** Without the fields that are not set: an object in the cluster has no undefined, and an empty one would mean something. */
export function defined(value: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).filter(([, v]) => v !== undefined));
}
