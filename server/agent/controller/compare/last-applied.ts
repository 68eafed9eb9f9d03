import { isDeepStrictEqual } from "node:util";
import { readJson } from "../../../base/json/nesting.ts";
import type { KubeObject } from "../../../kube/object.ts";
import { META } from "../application.ts";
import { type Ignoring, without } from "./ignore.ts";

/**
 * What a client-side apply wrote last, as kubectl and Argo CD keep it on the object: only by it they know which fields have left Git. Where an
 * object has the annotation we keep it true, so that either engine can continue from here.
 */
export const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

// An object takes 256 KiB of annotations, all together.
const MOST = 200_000;
// The keys of list items, in the order of preference.
const KEYS = ["name", "key", "mountPath", "devicePath", "containerPort", "port", "ip", "topologyKey", "type", "uid"];
const OWN_LABELS = new Set<string>([META.app]);

export const hasLastApplied = ({ metadata }: KubeObject): boolean => metadata.annotations?.[LAST_APPLIED] !== undefined;

/** The object with the annotation, where there is room for it. */
export function withLastApplied(object: KubeObject): KubeObject {
  const text = lastAppliedOf(object);
  if (text.length > MOST) return object;
  return {
    ...object,
    metadata: { ...object.metadata, annotations: { ...object.metadata.annotations, [LAST_APPLIED]: text } },
  };
}

/** The text of the annotation: the object without it and without our label, which no other engine would apply. */
export function lastAppliedOf(object: KubeObject): string {
  const { [META.app]: _, ...labels } = object.metadata.labels ?? {};
  const { [LAST_APPLIED]: __, ...annotations } = object.metadata.annotations ?? {};
  const metadata = {
    ...object.metadata,
    labels: Object.keys(labels).length ? labels : undefined,
    annotations: Object.keys(annotations).length ? annotations : undefined,
  };
  return `${JSON.stringify({ ...object, metadata })}\n`;
}

/** Whether the live object still has a field that was applied once and is not wanted any more. */
export function hasLeftovers(live: KubeObject, wanted: KubeObject, ignored: Ignoring): boolean {
  const text = live.metadata.annotations?.[LAST_APPLIED];
  if (!text) return false;
  let last: unknown;
  try {
    last = readJson(text);
  } catch {
    return false;
  }
  if (!isMap(last)) return false;
  const counted = (object: Record<string, unknown>) => without(applied(object), ignored);
  return leftover(counted(last), counted(wanted), counted(live));
}

/** The fields that a user decides. */
function applied({
  apiVersion: _,
  kind,
  status: __,
  metadata,
  ...rest
}: Record<string, unknown>): Record<string, unknown> {
  const { labels, annotations, finalizers } = isMap(metadata) ? metadata : {};
  const others = kind === "Secret" ? encoded(rest) : rest;
  return {
    ...others,
    metadata: { finalizers, labels: plain(labels, OWN_LABELS), annotations: plain(annotations, OWN_ANNOTATIONS) },
  };
}

/** The cluster keeps the plain texts of a Secret among its data. */
function encoded({ stringData, ...rest }: Record<string, unknown>): Record<string, unknown> {
  if (!isMap(stringData)) return rest;
  const entries = Object.entries(stringData).map(
    ([key, text]) => [key, Buffer.from(String(text)).toString("base64")] as const,
  );
  return { ...rest, data: { ...(isMap(rest.data) ? rest.data : {}), ...Object.fromEntries(entries) } };
}

const OWN_ANNOTATIONS = new Set<string>([LAST_APPLIED, META.trackingId, META.installationId]);
const plain = (value: unknown, left: ReadonlySet<string>): unknown =>
  isMap(value) ? Object.fromEntries(Object.entries(value).filter(([key]) => !left.has(key))) : value;

function leftover(last: unknown, wanted: unknown, live: unknown): boolean {
  if (Array.isArray(last)) return Array.isArray(live) && leftInList(last, Array.isArray(wanted) ? wanted : [], live);
  if (!isMap(last) || !isMap(live)) return false;
  return Object.entries(last).some(([key, value]) => {
    if (value === undefined || value === null || live[key] === undefined || live[key] === null) return false;
    const next = isMap(wanted) ? wanted[key] : undefined;
    if (next === undefined || next === null) return !isEmpty(value) && !isEmpty(live[key]);
    return leftover(value, next, live[key]);
  });
}

/** Items are identified by all their keys, as two mounts of one volume by their paths; plain values by themselves. */
function leftInList(last: unknown[], wanted: unknown[], live: unknown[]): boolean {
  const keys = KEYS.filter((name) => last.length > 0 && last.every((item) => isMap(item) && item[name] !== undefined));
  if (keys.length === 0 && last.some(isMap)) return false;
  const same = (a: unknown, b: unknown) =>
    isMap(a) && isMap(b)
      ? [...keys, "protocol"].every((key) => isDeepStrictEqual(named(a, key), named(b, key)))
      : isDeepStrictEqual(a, b);
  return last.some((item) => {
    const here = live.find((one) => same(one, item));
    if (here === undefined) return false;
    const next = wanted.find((one) => same(one, item));
    return next === undefined || (keys.length > 0 && leftover(item, next, here));
  });
}

/** The protocol of a port is TCP by default. */
const named = (item: Record<string, unknown>, key: string): unknown =>
  item[key] ?? (key === "protocol" ? "TCP" : undefined);

const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const isEmpty = (value: unknown): boolean =>
  (Array.isArray(value) && value.length === 0) || (isMap(value) && Object.keys(value).length === 0);
