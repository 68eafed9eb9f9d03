import { gvkOf, type KubeObject } from "../../../../kube/object.ts";
import { ingressUrls, linksOf } from "../../status/summary.ts";

export interface TargetRef {
  group?: string;
  kind: string;
  namespace?: string;
  name?: string;
}

/** Where traffic goes from an object, as the network view draws it. */
export interface Networking {
  targetLabels?: Record<string, string>;
  targetRefs?: TargetRef[];
  labels?: Record<string, string>;
  ingress?: { hostname?: string; ip?: string }[];
  externalURLs?: string[];
}

// Users of the cluster decide how many there are.
const MOST = 1_000;
const ROUTES = new Set(["HTTPRoute", "GRPCRoute", "TCPRoute", "TLSRoute", "UDPRoute"]);

// biome-ignore lint/suspicious/noExplicitAny: written by users of the cluster; each field is looked at before it is used.
type Any = any;
const list = (value: unknown): Any[] =>
  Array.isArray(value) ? value.filter((one) => typeof one === "object" && one !== null).slice(0, MOST) : [];
const text = (value: unknown): string | undefined => (typeof value === "string" && value ? value : undefined);
const texts = (value: unknown): Record<string, string> | undefined => {
  if (typeof value !== "object" || value === null) return undefined;
  const found = Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === "string");
  return found.length ? Object.fromEntries(found) : undefined;
};

export function networkingOf(object: KubeObject): Networking | undefined {
  const { group } = gvkOf(object);
  const links = linksOf(object);
  const found = partOf(group, object);
  if (!found && links.length === 0) return undefined;
  const externalURLs = [...links, ...(found?.externalURLs ?? [])];
  const targetRefs = found?.targetRefs && distinct(found.targetRefs);
  const { targetLabels, labels, ingress } = found ?? {};
  return {
    ...(targetLabels ? { targetLabels } : {}),
    ...(targetRefs?.length ? { targetRefs } : {}),
    ...(labels ? { labels } : {}),
    ...(ingress?.length ? { ingress } : {}),
    ...(externalURLs.length ? { externalURLs: externalURLs.slice(0, MOST) } : {}),
  };
}

function partOf(group: string, object: KubeObject): Networking | undefined {
  const { kind, spec } = object;
  if (group === "" && kind === "Pod") return { labels: texts(object.metadata.labels) };
  if (group === "" && kind === "Service")
    return { targetLabels: texts(spec?.selector), ingress: spec?.type === "LoadBalancer" ? balancers(object) : [] };
  if (kind === "Ingress" && (group === "networking.k8s.io" || group === "extensions")) return ingress(object);
  if (group === "networking.istio.io" && kind === "VirtualService") return virtualService(object);
  if (group === "networking.istio.io" && kind === "ServiceEntry") {
    const targetLabels = texts(spec?.workloadSelector?.labels);
    return targetLabels && { targetLabels, targetRefs: [{ kind: "Pod" }] };
  }
  if (group === "gateway.networking.k8s.io" && ROUTES.has(kind)) return route(object);
  if (group === "gateway.networking.k8s.io" && kind === "Gateway") return gateway(object);
  return undefined;
}

type Address = { hostname?: string; ip?: string };
const balancers = ({ status }: KubeObject): Address[] =>
  list(status?.loadBalancer?.ingress).flatMap(({ hostname, ip }): Address[] => {
    if (text(hostname)) return [{ hostname: String(hostname) }];
    return text(ip) ? [{ ip: String(ip) }] : [];
  });

function ingress(object: KubeObject): Networking {
  const { spec, metadata } = object;
  const backends = [
    spec?.backend,
    ...list(spec?.rules).flatMap((rule) => list(rule.http?.paths).map(({ backend }) => backend)),
  ];
  const names = backends.flatMap((backend) => text(backend?.service?.name) ?? text(backend?.serviceName) ?? []);
  return {
    targetRefs: names.map((name) => ref({ kind: "Service", namespace: metadata.namespace, name })),
    ingress: balancers(object),
    externalURLs: [...new Set(ingressUrls(object))],
  };
}

function virtualService({ spec, metadata }: KubeObject): Networking {
  const hosts = list(spec?.http).flatMap(({ route: routes }) =>
    list(routes).flatMap(({ destination }) => text(destination?.host) ?? []),
  );
  return {
    targetRefs: hosts.map((host) => {
      const [name, namespace = metadata.namespace] = host.split(".");
      return ref({ kind: "Service", namespace, name });
    }),
  };
}

function route({ spec, metadata }: KubeObject): Networking {
  const to = (one: Any, group: string, kind: string) =>
    text(one.name)
      ? [
          ref({
            group: text(one.group) ?? group,
            kind: text(one.kind) ?? kind,
            namespace: text(one.namespace) ?? metadata.namespace,
            name: one.name,
          }),
        ]
      : [];
  return {
    targetRefs: [
      ...list(spec?.parentRefs).flatMap((one) => to(one, "gateway.networking.k8s.io", "Gateway")),
      ...list(spec?.rules).flatMap(({ backendRefs }) => list(backendRefs).flatMap((one) => to(one, "", "Service"))),
    ],
  };
}

function gateway({ spec, status, metadata }: KubeObject): Networking {
  const addresses = list(status?.addresses).flatMap(({ type, value }): Address[] => {
    if (!text(value)) return [];
    if (type === "Hostname") return [{ hostname: value }];
    return type === "IPAddress" || !type ? [{ ip: value }] : [];
  });
  const silent = /^(1|t|true)$/i.test(metadata.annotations?.["argocd.argoproj.io/ignore-default-links"] ?? "");
  const urls = list(spec?.listeners).flatMap(({ hostname, protocol, port }) => {
    const scheme = protocol === "HTTPS" || protocol === "TLS" ? "https" : "http";
    const hosts = text(hostname) && hostname !== "*" ? [hostname] : addresses.map((one) => one.hostname ?? one.ip);
    const usual = port === (scheme === "http" ? 80 : 443);
    return hosts.map((host) => `${scheme}://${host}${usual ? "" : `:${Number(port) || 0}`}`);
  });
  return { ingress: addresses, externalURLs: silent ? [] : [...new Set(urls)] };
}

const ref = ({ group, kind, namespace, name }: { [K in keyof TargetRef]: TargetRef[K] | undefined }): TargetRef => ({
  ...(group ? { group } : {}),
  kind: kind!,
  ...(namespace ? { namespace } : {}),
  ...(name ? { name } : {}),
});

function distinct(refs: readonly TargetRef[]): TargetRef[] {
  const byText = new Map(refs.map((one) => [JSON.stringify(one), one]));
  return [...byText].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
}
