import { gvkOf, type KubeObject } from "../../../kube/object.ts";
import type { Application, ApplicationStatus } from "../application.ts";

const LINK = "link.argocd.argoproj.io/";
const NO_DEFAULT = "argocd.argoproj.io/ignore-default-links";
// The author of an Ingress decides how many there are and how long; a status has room for more than this.
const MAX_URLS = 200;
const MAX_LENGTH = 2_048;
// Likewise the author of a workload: no registry has names as long, and a status has room for some thousands.
const MAX_IMAGE = 1_024;
const MAX_IMAGES = 262_144;

/** The summary of an application: its images, its addresses, and whether it deploys applications. */
export function summaryOf(
  app: Application,
  objects: readonly KubeObject[],
  images: string[],
): NonNullable<ApplicationStatus["summary"]> {
  const urls = new Set(
    [app, ...objects].flatMap((object) => [...linksOf(object), ...(isIngress(object) ? ingressUrls(object) : [])]),
  );
  const short = [...urls].filter((url) => url.length <= MAX_LENGTH).sort();
  return {
    ...(images.length ? { images: within(MAX_IMAGES, images) } : {}),
    ...(short.length ? { externalURLs: short.slice(0, MAX_URLS) } : {}),
    ...(objects.some((object) => gvkOf(object).group === "argoproj.io" && object.kind === "Application")
      ? { isAppOfApps: true }
      : {}),
  };
}

/** The first ones, as many as fit. */
export function within(room: number, texts: readonly string[]): string[] {
  const taken: string[] = [];
  let left = room;
  for (const text of texts) {
    left -= Buffer.byteLength(JSON.stringify(text)) + 1;
    if (left < 0) break;
    taken.push(text);
  }
  return taken;
}

/** The images of an object; of the containers that stay, if those that begin are not asked for. */
export function imagesOf({ kind, spec: given }: KubeObject, { begins } = { begins: true }): string[] {
  const spec =
    kind === "CronJob"
      ? given?.jobTemplate?.spec?.template?.spec
      : (given?.template?.spec ?? (kind === "Pod" ? given : undefined));
  const containers = [
    ...(begins ? list<{ image?: string }>(spec?.initContainers) : []),
    ...list<{ image?: string }>(spec?.containers),
  ];
  return containers
    .map(({ image }) => image)
    .filter((image): image is string => typeof image === "string" && image.length <= MAX_IMAGE);
}

/** Links in an object's annotations, each an address or `title|address`. Addresses that a browser would run are refused. */
export function linksOf({ metadata }: KubeObject): string[] {
  return Object.entries(metadata.annotations ?? {}).flatMap(([key, value]) =>
    key.startsWith(LINK) && /^https?:\/\/[^/\s]/i.test(value.slice(value.indexOf("|") + 1)) ? [value] : [],
  );
}

const isIngress = (object: KubeObject): boolean =>
  object.kind === "Ingress" && ["extensions", "networking.k8s.io"].includes(gvkOf(object).group);

interface Rule {
  host?: string;
  http?: { paths?: { path?: string }[] };
}

/** One address for each path; a rule without a host is reached where the load balancer is. */
export function ingressUrls({ metadata, spec, status }: KubeObject): string[] {
  if (/^(1|t|true)$/i.test(metadata.annotations?.[NO_DEFAULT] ?? "")) return [];
  const balancers = list<{ hostname?: string; ip?: string }>(status?.loadBalancer?.ingress);
  const at = balancers.map(({ hostname, ip }) => hostname || ip).find(Boolean);
  const tls = list<{ hosts?: string[]; secretName?: string }>(spec?.tls);
  return list<Rule>(spec?.rules).flatMap((rule) => {
    const host = rule.host || at;
    if (!host) return [];
    const scheme = tls.some(({ hosts, secretName }) => secretName || list<string>(hosts).includes(host))
      ? "https"
      : "http";
    return list<{ path?: string }>(rule.http?.paths).map(
      ({ path }) => `${scheme}://${host}${String(path ?? "").replace(/\*$/, "")}`,
    );
  });
}

/** Objects of a cluster may have any shape. */
const list = <T>(value: unknown): T[] =>
  Array.isArray(value) ? value.filter((one) => one !== null && one !== undefined) : [];
