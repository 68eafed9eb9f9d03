import { done, type Failure, type Outcome, stop } from "../../base/outcome.ts";
import { inParallel } from "../../base/process/parallel.ts";
import { KubeClient } from "../../kube/client.ts";
import type { KubeConfig } from "../../kube/config.ts";
import { KUBE } from "../../kube/errors.ts";
import { describe, type KubeObject } from "../../kube/object.ts";
import { RESOURCES, type Resource } from "../../kube/path.ts";
import { type Application, META } from "../controller/application.ts";
import { INDEXER } from "../controller/cluster/adopt.ts";
import { appliedOf } from "../controller/compare/applied.ts";
import { LAST_APPLIED, lastAppliedOf } from "../controller/compare/last-applied.ts";
import { isOpen } from "../controller/config/policy.ts";
import { type Destination, Destinations } from "../controller/destination.ts";
import { PHASE, STARTED } from "../controller/sync/hooks.ts";
import { requestOf } from "../controller/sync/operation.ts";
import { appLabel } from "../controller/tracking.ts";
import { instanceOf } from "../project/instance.ts";

export { loadConfig } from "../../kube/config.ts";

/** The changes to one object, so that Argo CD can continue with it. */
export interface HandedBack {
  application: string;
  object: string;
  changes: string[];
}

export interface HandBack {
  config: KubeConfig;
  /** Of the Applications. */
  namespace: string;
  /** Only these; empty for all. */
  applications: readonly string[];
  /** Tells what would be done and writes nothing. */
  dryRun: boolean;
}

/**
 * Leaves the objects of applications as Argo CD would have: `last-applied-configuration` on what it applies on the client's side, so that it
 * removes fields that leave Git; our label and the marks of hooks taken off. The request of a sync that runs is restored. No spec changes.
 */
export async function handBack({
  config,
  namespace,
  applications,
  dryRun,
}: HandBack): Promise<Outcome<{ checked: number; objects: HandedBack[]; failed: string[] }>> {
  const home = new KubeClient(config);
  const abort = new AbortController();
  const destinations = new Destinations({
    home,
    own: namespace,
    namespaces: [],
    changed: () => {},
    signal: abort.signal,
  });
  try {
    const running = dryRun ? undefined : await controllerOf(home, namespace);
    if (running) return running;
    const clusters = await home.list(RESOURCES.secret, {
      namespace,
      labelSelector: "argocd.argoproj.io/secret-type=cluster",
    });
    if (clusters.kind !== "done") return clusters;
    destinations.replace(clusters.value.items);
    const listed = await applicationsOf(home, namespace);
    if (listed.kind !== "done") return listed;
    const instance = (app: KubeObject) => instanceOf(app, namespace);
    const wanted = listed.value.filter((app) => applications.length === 0 || applications.includes(instance(app)));
    const missing = applications.find((name) => !wanted.some((app) => instance(app) === name));
    if (missing) return stop("NotFound", `there is no Application ${missing} in namespace ${namespace}`);
    const all: HandedBack[] = [];
    const failed: string[] = [];
    for (const app of wanted as Application[]) {
      const destination = await destinations.find(app);
      const handed = destination.kind === "done" ? await handBackOne(destination.value, app, dryRun) : destination;
      // A cluster that is away must not keep the others from being handed back.
      const request = handed.kind === "done" ? await handBackRequest(home, app, instance(app), dryRun) : handed;
      if (handed.kind === "done") all.push(...handed.value);
      if (request.kind === "done") all.push(...request.value);
      else failed.push(`Application ${instance(app)} is not handed back: ${request.message}`);
    }
    return done({ checked: wanted.length, objects: all, failed });
  } finally {
    abort.abort();
    await destinations.close();
    await home.close();
  }
}

/** Those of the namespace, and those elsewhere that a controller may be configured to serve. */
async function applicationsOf(client: KubeClient, namespace: string): Promise<Outcome<KubeObject[]>> {
  const everywhere = await client.list(RESOURCES.application, {});
  const listed = everywhere.kind === "done" ? everywhere : await client.list(RESOURCES.application, { namespace });
  return listed.kind === "done" ? done(listed.value.items) : listed;
}

/** Two engines at once would write in turns. */
async function controllerOf(client: KubeClient, namespace: string): Promise<Failure | undefined> {
  const leases = await client.list(RESOURCES.lease, { namespace });
  if (leases.kind !== "done") return leases;
  const held = leases.value.items.find(({ metadata, spec }) => {
    const until = Date.parse(spec?.renewTime ?? "") + Number(spec?.leaseDurationSeconds ?? 0) * 1_000;
    return metadata.name.startsWith("outpost-controller") && spec?.holderIdentity && until > Date.now();
  });
  if (!held) return undefined;
  return stop(
    "ControllerRunning",
    `the controller ${held.spec.holderIdentity} is running in namespace ${namespace}; stop it first, for example with \`kubectl -n ${namespace} scale deployment outpost-controller --replicas 0\``,
  );
}

async function handBackOne(
  destination: Destination,
  app: Application,
  dryRun: boolean,
): Promise<Outcome<HandedBack[]>> {
  const { client, own } = destination;
  const application = instanceOf(app, own);
  const handed: HandedBack[] = [];
  let failure: Failure | undefined;
  const kinds = await kindsOf(client, app);
  if (kinds.kind !== "done") return kinds;
  for (const resource of kinds.value) {
    const listed = await client.list(resource, { labelSelector: `${META.app}=${appLabel(application)}` });
    if (listed.kind !== "done") {
      if (listed.reason === KUBE.notFound) continue;
      return listed;
    }
    await inParallel(listed.value.items, async (object) => {
      const { patch, changes } = handedBack(object, app);
      const { namespace, name } = object.metadata;
      const written = dryRun
        ? done(object)
        : await client.mergePatch(resource, namespace, name, patch, { manager: INDEXER });
      if (written.kind === "done") handed.push({ application, object: describe(object), changes });
      else if (written.reason !== KUBE.notFound) failure ??= written;
    });
  }
  return failure ?? done(handed);
}

/**
 * Argo CD continues a sync only while its request is in `operation`, which our controller removes when it begins. Without it a sync
 * that was running would stay Running for ever.
 */
async function handBackRequest(
  client: KubeClient,
  app: Application,
  application: string,
  dryRun: boolean,
): Promise<Outcome<HandedBack[]>> {
  const state = app.status?.operationState;
  if (!isOpen(state) || app.operation) return done([]);
  const { uid, resourceVersion, namespace, name } = app.metadata;
  // Without its sync options Argo CD would, for example, prune in the foreground.
  const operation = requestOf(app, state!);
  const patch = { metadata: { uid, resourceVersion }, operation, status: { operationState: { operation } } };
  const written = dryRun ? done(app) : await client.mergePatch(RESOURCES.application, namespace, name, patch);
  if (written.kind !== "done") return written;
  return done([
    { application, object: `Application ${application}`, changes: ["request of the running sync restored"] },
  ]);
}

/** Every kind of which the application has or had an object. */
async function kindsOf(client: KubeClient, { status }: Application): Promise<Outcome<Resource[]>> {
  const found = new Map<string, Resource>();
  for (const { group = "", version, kind } of [
    ...(status?.resources ?? []),
    ...(status?.operationState?.syncResult?.resources ?? []),
  ]) {
    if (found.has(`${group}/${kind}`)) continue;
    const resource = await client.discovery.find(group, version, kind);
    if (resource.kind === "done") found.set(`${group}/${kind}`, resource.value);
    // Of a cluster that does not answer it is not known what is there.
    else if (resource.reason !== KUBE.kindNotFound) return resource;
  }
  return done([...found.values()]);
}

function handedBack(object: KubeObject, app: Application): { patch: object; changes: string[] } {
  const changes = [`label ${META.app} removed`];
  const annotations: Record<string, string | null> = {};
  for (const key of [STARTED, PHASE]) if (object.metadata.annotations?.[key] !== undefined) annotations[key] = null;
  if (Object.keys(annotations).length) changes.push("marks of hooks removed");
  const applied = isServerSide(object, app) ? undefined : withoutMarks(appliedOf(object));
  if (applied && object.metadata.annotations?.[LAST_APPLIED] === undefined) {
    annotations[LAST_APPLIED] = lastAppliedOf(applied);
    changes.push(`annotation ${LAST_APPLIED} written`);
  }
  // The uid keeps a newer object of the same name as it is.
  return { patch: { metadata: { uid: object.metadata.uid, labels: { [META.app]: null }, annotations } }, changes };
}

/** The applied object in Argo CD's form: a hook without the mark of its run here. */
function withoutMarks(applied: KubeObject | undefined): KubeObject | undefined {
  if (!applied?.metadata.annotations) return applied;
  const { [STARTED]: _, [PHASE]: __, ...annotations } = applied.metadata.annotations;
  return { ...applied, metadata: { ...applied.metadata, annotations } };
}

/** Whether Argo CD applies the object on the server's side, where managed fields say what was applied. */
function isServerSide({ metadata }: KubeObject, { spec }: Application): boolean {
  const own = metadata.annotations?.[META.syncOptions]?.split(",").map((option) => option.trim()) ?? [];
  const options = [...own, ...(spec.syncPolicy?.syncOptions ?? [])];
  return (options.find((option) => option.startsWith("ServerSideApply=")) ?? "").endsWith("=true");
}
