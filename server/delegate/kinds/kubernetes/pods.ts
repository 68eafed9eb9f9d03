import type { KubeClient } from "../../../kube/client.ts";
import { conditionsOf } from "../../../kube/health/types.ts";
import type { KubeObject } from "../../../kube/object.ts";
import { type Resource, resourcePath } from "../../../kube/path.ts";

const PODS: Resource = { group: "", version: "v1", kind: "Pod", plural: "pods", namespaced: true };
const EVENTS: Resource = { group: "", version: "v1", kind: "Event", plural: "events", namespaced: true };
const SHOWN = 3;
const LOG_LINES = 20;
const LOG_BYTES = 16 * 1024;

/** Why a workload's Pods are not ready. */
export interface Trouble {
  /** One sentence for each of the first few Pods. */
  reasons: string[];
  /** A Pod is in a state that seldom passes by itself: its image cannot be had, its container crashes. */
  broken: boolean;
  /** It never passes by itself: the image's name is not one. */
  hopeless: boolean;
  /** The end of the log of the container that crashed. */
  log?: { of: string; lines: string[] };
}

interface State {
  running?: { startedAt?: string };
  waiting?: { reason?: string; message?: string };
  terminated?: { exitCode: number; reason?: string; message?: string };
}
export interface Container {
  name: string;
  ready?: boolean;
  restartCount?: number;
  state?: State;
  lastState?: State;
}

const HOPELESS = /^(InvalidImageName|ErrImageNeverPull)$/;
const BROKEN = /^Err|(Error|BackOff)$/;

/** Looks at the Pods of a workload that is not ready, and at its events when it has none. What may not be read is said instead. */
export async function troubleOf(client: KubeClient, object: KubeObject, withLog: boolean): Promise<Trouble> {
  const trouble: Trouble = { reasons: [], broken: false, hopeless: false };
  const pods = await podsOf(client, object);
  if (typeof pods === "string") return { ...trouble, reasons: [pods] };
  if (pods.length === 0) {
    const event = await lastWarning(client, object);
    return { ...trouble, reasons: event ? [event] : ["it has no Pods yet"] };
  }
  const unready = pods.filter((pod) => !isReady(pod));
  for (const pod of unready.slice(0, SHOWN))
    trouble.reasons.push(`Pod ${pod.metadata.name}: ${await whyPod(client, pod, trouble)}`);
  if (unready.length > SHOWN) trouble.reasons.push(`and ${unready.length - SHOWN} more Pods`);
  if (withLog) {
    for (const pod of unready) {
      const container = containersOf(pod).find((c) => crashed(c));
      if (!container) continue;
      trouble.log = await logOf(client, pod, container);
      break;
    }
  }
  return trouble;
}

/** Of several generations of Pods only the newest tells about the change. */
export async function podsOf(client: KubeClient, object: KubeObject): Promise<KubeObject[] | string> {
  if (object.kind === "Pod") return [object];
  const labelSelector = selectorOf(object.spec?.selector);
  const listed = await client.list(PODS, { namespace: object.metadata.namespace!, labelSelector });
  if (listed.kind !== "done") return `its Pods cannot be looked at: ${listed.message}`;
  const made = (pod: KubeObject) => Date.parse(pod.metadata.creationTimestamp ?? "") || 0;
  const pods = listed.value.items.filter((pod) => !pod.metadata.deletionTimestamp).sort((a, b) => made(b) - made(a));
  const hash = (pod?: KubeObject) =>
    pod?.metadata.labels?.["pod-template-hash"] ?? pod?.metadata.labels?.["controller-revision-hash"];
  return pods.filter((pod) => hash(pod) === hash(pods[0]));
}

async function whyPod(client: KubeClient, pod: KubeObject, trouble: Trouble): Promise<string> {
  const unscheduled = conditionsOf(pod).find((c) => c.type === "PodScheduled" && c.status === "False");
  if (unscheduled) return `cannot be scheduled: ${unscheduled.message}`;
  for (const container of containersOf(pod)) {
    const { reason = "", message } = container.state?.waiting ?? {};
    if (BROKEN.test(reason) || HOPELESS.test(reason)) {
      trouble.broken = true;
      trouble.hopeless ||= HOPELESS.test(reason);
      const ended = container.lastState?.terminated;
      const how = ended
        ? `it ${endOf(ended)}${container.restartCount ? `, ${container.restartCount} restarts` : ""}`
        : (message ?? "");
      return `container ${container.name} is in ${reason}${how ? `: ${how}` : ""}`;
    }
    const ended = container.state?.terminated;
    if (ended && ended.exitCode !== 0) {
      trouble.broken = true;
      return `container ${container.name} ${endOf(ended)}`;
    }
  }
  const event = await lastWarning(client, pod);
  if (event) return event;
  const starting = containersOf(pod).find((c) => !c.ready);
  const reason = starting?.state?.waiting?.reason;
  return starting ? `container ${starting.name} is ${reason ?? "not ready"}` : `it is ${pod.status?.phase ?? "new"}`;
}

const endOf = ({ exitCode, reason, message }: { exitCode: number; reason?: string; message?: string }) =>
  `ended with ${reason && reason !== "Error" ? `${reason} (${exitCode})` : `exit code ${exitCode}`}${message ? `: ${message.trim()}` : ""}`;

const crashed = ({ state, lastState }: Container) =>
  Boolean(state?.terminated?.exitCode || lastState?.terminated?.exitCode);

async function logOf(
  client: KubeClient,
  pod: KubeObject,
  container: Container,
): Promise<{ of: string; lines: string[] }> {
  // A container that runs again has the log of its crash in the one before.
  const previous = container.state?.terminated === undefined;
  const query = {
    container: container.name,
    tailLines: LOG_LINES,
    limitBytes: LOG_BYTES,
    ...(previous ? { previous: true } : {}),
  };
  const read = await client.text(`${resourcePath(PODS, pod.metadata.namespace, pod.metadata.name)}/log`, query);
  const lines =
    read.kind === "done"
      ? read.value.split("\n").filter(Boolean).slice(-LOG_LINES)
      : [`it cannot be read: ${read.message}`];
  return { of: `${pod.metadata.name}/${container.name}`, lines };
}

async function lastWarning(client: KubeClient, object: KubeObject): Promise<string | undefined> {
  const fieldSelector = `involvedObject.uid=${object.metadata.uid},type=Warning`;
  const listed = await client.list(EVENTS, { namespace: object.metadata.namespace ?? "default", fieldSelector });
  if (listed.kind !== "done") return undefined;
  const at = (event: KubeObject) =>
    Date.parse(event.lastTimestamp ?? event.eventTime ?? event.metadata.creationTimestamp ?? "") || 0;
  const last = listed.value.items.sort((a, b) => at(a) - at(b)).at(-1);
  return last && `${last.reason}: ${String(last.message ?? "").trim()}`;
}

const isReady = (pod: KubeObject) =>
  pod.status?.phase === "Succeeded" || conditionsOf(pod).some((c) => c.type === "Ready" && c.status === "True");

const containersOf = ({ status = {} }: KubeObject): Container[] => [
  ...(status.initContainerStatuses ?? []),
  ...(status.containerStatuses ?? []),
];

interface Selector {
  matchLabels?: Record<string, string>;
  matchExpressions?: { key: string; operator: string; values?: string[] }[];
}

function selectorOf({ matchLabels = {}, matchExpressions = [] }: Selector = {}): string {
  const expressions = matchExpressions.map(({ key, operator, values = [] }) => {
    if (operator === "Exists") return key;
    if (operator === "DoesNotExist") return `!${key}`;
    return `${key} ${operator === "In" ? "in" : "notin"} (${values.join(",")})`;
  });
  return [...Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`), ...expressions].join(",");
}
