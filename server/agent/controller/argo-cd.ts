import { done, type Outcome } from "../../base/outcome.ts";
import { pause } from "../../base/process/pause.ts";
import { follow } from "../../base/process/signal.ts";
import type { KubeClient } from "../../kube/client.ts";
import { KUBE } from "../../kube/errors.ts";
import type { KubeObject } from "../../kube/object.ts";
import type { Resource } from "../../kube/path.ts";
import type { Log } from "./deps.ts";

/** The two kinds of workload that Argo CD's charts and manifests install it as. */
const ARGO_CONTROLLER = "argocd-application-controller";
const KINDS: Resource[] = [
  { group: "apps", version: "v1", kind: "StatefulSet", plural: "statefulsets", namespaced: true },
  { group: "apps", version: "v1", kind: "Deployment", plural: "deployments", namespaced: true },
];
// What its manifests, its Helm chart and its operator have in common. The names differ: a release `argo-cd` of the chart makes
// `argo-cd-argocd-application-controller`, an instance `main` of the operator `main-application-controller`.
const LABELS = { "app.kubernetes.io/component": "application-controller", "app.kubernetes.io/part-of": "argocd" };
// Argo CD takes about as long to start, so one that started in between has not written anything yet.
const LOOK_MS = 15_000;

/** Argo CD's application controller, if it runs in a namespace: as `StatefulSet argocd/argocd-application-controller`. */
export async function argoControllerIn(client: KubeClient, namespace: string): Promise<Outcome<string | undefined>> {
  return firstRunning(namespace, async (resource) => {
    const listed = await client.list(resource, { namespace });
    if (listed.kind === "done") return done(listed.value.items.filter(isController));
    // An account that was installed before this rule may read only the one with the usual name.
    return listed.reason === KUBE.forbidden ? usual(client, resource, namespace) : listed;
  });
}

/** The same for an account that may not list workloads: it finds Argo CD under its usual name only. */
export async function usualArgoControllerIn(
  client: KubeClient,
  namespace: string,
): Promise<Outcome<string | undefined>> {
  return firstRunning(namespace, (resource) => usual(client, resource, namespace));
}

async function usual(client: KubeClient, resource: Resource, namespace: string): Promise<Outcome<KubeObject[]>> {
  const named = await client.get(resource, namespace, ARGO_CONTROLLER);
  return named.kind === "done" ? done([named.value]) : named;
}

async function firstRunning(
  namespace: string,
  find: (resource: Resource) => Promise<Outcome<KubeObject[]>>,
): Promise<Outcome<string | undefined>> {
  for (const resource of KINDS) {
    const found = await find(resource);
    if (found.kind !== "done" && found.reason !== KUBE.notFound && found.reason !== KUBE.kindNotFound) return found;
    const running = found.kind === "done" ? found.value.find(isRunning) : undefined;
    if (running) return done(`${resource.kind} ${namespace}/${running.metadata.name}`);
  }
  return done(undefined);
}

const isController = ({ metadata: { name, labels } }: KubeObject): boolean =>
  name === ARGO_CONTROLLER || Object.entries(LABELS).every(([key, value]) => labels?.[key] === value);

/** While its last Pod ends, it still writes. */
const isRunning = ({ spec, status }: KubeObject): boolean => (spec?.replicas ?? 1) > 0 || (status?.replicas ?? 0) > 0;

export const heldMessage = (workload: string): string =>
  `${workload} runs, so Outpost's controller waits and changes nothing: two engines would undo each other's work. Scale it to 0 to let Outpost's ` +
  "controller go on, or install the agent with engine none to leave the work to Argo CD.";

export interface AloneOptions {
  client: KubeClient;
  namespace: string;
  log: Log;
  signal: AbortSignal;
  /** Called after the first check, and each time that waiting starts or ends. */
  held?(why: string | undefined): void | Promise<void>;
  lookMs?: number;
}

/**
 * Does work only while no Argo CD controller works on the same applications: waits for it to end, and ends the work when one comes. Where the
 * cluster does not let us look, the work is done: an account that was installed before this rule has no right to look.
 */
export async function whileAlone(options: AloneOptions, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const { client, namespace, log, signal, held, lookMs = LOOK_MS } = options;
  let told: string | undefined;
  let [looked, first] = [false, true];
  const look = async (): Promise<string | undefined> => {
    const found = await argoControllerIn(client, namespace);
    if (found.kind === "done" || found.kind === "stop") looked = true;
    if (found.kind === "done") return found.value;
    if (found.kind === "stop")
      log.warn({ reason: found.reason }, `it cannot be seen whether Argo CD runs here: ${found.message}`);
    // While the API server is away, the last known answer about Argo CD stays.
    return found.kind === "stop" ? undefined : told;
  };
  while (!signal.aborted) {
    const other = await look();
    // Nothing is known yet: the API server may be away just while both engines start.
    if (!looked) {
      await pause(lookMs / 10, signal);
      continue;
    }
    if (first || other !== told) {
      await held?.(other && heldMessage(other));
      if (other) log.warn({ reason: "ArgoCDRuns" }, heldMessage(other));
      else if (!first) log.info({}, "Argo CD's controller is gone: the work goes on");
      [told, first] = [other, false];
    }
    if (other) {
      await pause(lookMs, signal);
      continue;
    }
    const turn = new AbortController();
    const leave = follow(turn, signal);
    const watching = (async () => {
      while (!turn.signal.aborted) {
        await pause(lookMs, turn.signal);
        if (!turn.signal.aborted && (await look())) turn.abort();
      }
    })();
    try {
      await work(turn.signal);
    } finally {
      turn.abort();
      leave();
      await watching;
    }
  }
}
