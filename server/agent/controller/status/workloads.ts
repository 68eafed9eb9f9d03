import { beginning } from "../../../base/lang/beginning.ts";
import { gvkOf, type KubeObject } from "../../../kube/object.ts";
import { imagesOf } from "./summary.ts";

/** A workload and its number of ready Pods, from its own status, so that nothing else must be watched. */
export interface Workload {
  group?: string;
  kind: string;
  namespace?: string;
  name: string;
  /** `app.kubernetes.io/version` of its Pods, or of itself. */
  version?: string;
  images?: string[];
  ready: number;
  total: number;
}

/** A status has room for these; an application with more is shown by its first. */
const MOST = 50;
const MOST_IMAGES = 10;
const LONGEST = 256;
const VERSION = "app.kubernetes.io/version";

// biome-ignore lint/suspicious/noExplicitAny: what comes from a cluster may be of any shape; each field is looked at before it is used.
type Loose = any;
type Count = (object: Loose) => { ready: unknown; total: unknown };

const byReplicas: Count = ({ spec, status }) => ({ ready: status?.readyReplicas ?? 0, total: spec?.replicas ?? 1 });

const COUNTS: Readonly<Record<string, Count>> = {
  "apps/Deployment": byReplicas,
  "apps/StatefulSet": byReplicas,
  "apps/ReplicaSet": byReplicas,
  "/ReplicationController": byReplicas,
  "argoproj.io/Rollout": byReplicas,
  "apps/DaemonSet": ({ status }) => ({ ready: status?.numberReady ?? 0, total: status?.desiredNumberScheduled ?? 0 }),
  "/Pod": ({ status }) => ({ ready: isReady(status) ? 1 : 0, total: 1 }),
};

const isReady = (status: Loose): boolean =>
  Array.isArray(status?.conditions) &&
  status.conditions.some((one: Loose) => one?.type === "Ready" && one.status === "True");

/** The workloads among the live objects of an application, by name. */
export function workloadsOf(objects: readonly KubeObject[]): Workload[] {
  const found = objects.flatMap((object) => toWorkload(object) ?? []);
  return found.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1)).slice(0, MOST);
}

const keyOf = ({ group = "", kind, namespace = "", name }: Workload): string => `${namespace}/${name}/${group}/${kind}`;

function toWorkload(object: KubeObject): Workload | undefined {
  const { group } = gvkOf(object);
  const counted = COUNTS[`${group}/${object.kind}`]?.(object);
  if (!counted) return undefined;
  const { namespace, name } = object.metadata;
  const version = versionOf(object);
  const images = [...new Set(imagesOf(object, { begins: false }))].slice(0, MOST_IMAGES);
  return {
    ...(group ? { group } : {}),
    kind: object.kind,
    ...(namespace ? { namespace } : {}),
    name,
    ...(version ? { version } : {}),
    ...(images.length ? { images } : {}),
    ready: number(counted.ready),
    total: number(counted.total),
  };
}

function versionOf({ metadata, spec }: Loose): string | undefined {
  const text = spec?.template?.metadata?.labels?.[VERSION] ?? metadata.labels?.[VERSION];
  return typeof text === "string" ? beginning(text, LONGEST) : undefined;
}

const number = (value: unknown): number =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? Math.min(value, 1_000_000) : 0;
