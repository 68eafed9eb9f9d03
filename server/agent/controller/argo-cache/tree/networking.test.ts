import type { KubeObject } from "../../../../kube/object.ts";
import { networkingOf } from "./networking.ts";

const object = (apiVersion: string, kind: string, more: object, annotations?: Record<string, string>): KubeObject => ({
  apiVersion,
  kind,
  metadata: { name: "x", namespace: "web", ...(annotations ? { annotations } : {}) },
  ...more,
});
const service = (name: string, namespace = "web") => ({ kind: "Service", namespace, name });
const balancer = { loadBalancer: { ingress: [{ ip: "192.0.2.1" }] } };
const rule = (host: string | undefined, name: string) => ({
  host,
  http: { paths: [{ path: "/a*", backend: { service: { name } } }] },
});

test.each<[string, KubeObject, object | undefined]>([
  ["a Service", object("v1", "Service", { spec: { selector: { app: "web" } } }), { targetLabels: { app: "web" } }],
  [
    "a Service with a balancer",
    object("v1", "Service", { spec: { type: "LoadBalancer" }, status: balancer }),
    { ingress: [{ ip: "192.0.2.1" }] },
  ],
  [
    "an Ingress",
    object("networking.k8s.io/v1", "Ingress", {
      spec: { rules: [rule("a.example", "one"), rule("a.example", "one")], tls: [{ hosts: ["a.example"] }] },
      status: balancer,
    }),
    { targetRefs: [service("one")], ingress: [{ ip: "192.0.2.1" }], externalURLs: ["https://a.example/a"] },
  ],
  [
    "an Ingress without a host is reached at its balancer",
    object("networking.k8s.io/v1", "Ingress", { spec: { rules: [rule(undefined, "one")] }, status: balancer }),
    { targetRefs: [service("one")], ingress: [{ ip: "192.0.2.1" }], externalURLs: ["http://192.0.2.1/a"] },
  ],
  [
    "an Ingress of the older form",
    object("extensions/v1beta1", "Ingress", { spec: { backend: { serviceName: "one" } } }),
    { targetRefs: [service("one")] },
  ],
  [
    "a VirtualService",
    object("networking.istio.io/v1", "VirtualService", {
      spec: { http: [{ route: [{ destination: { host: "one" } }, { destination: { host: "two.other.svc" } }] }] },
    }),
    { targetRefs: [service("two", "other"), service("one")] },
  ],
  [
    "a ServiceEntry",
    object("networking.istio.io/v1", "ServiceEntry", { spec: { workloadSelector: { labels: { app: "web" } } } }),
    { targetLabels: { app: "web" }, targetRefs: [{ kind: "Pod" }] },
  ],
  [
    "an HTTPRoute",
    object("gateway.networking.k8s.io/v1", "HTTPRoute", {
      spec: { parentRefs: [{ name: "gate" }], rules: [{ backendRefs: [{ name: "one" }] }] },
    }),
    {
      targetRefs: [
        { group: "gateway.networking.k8s.io", kind: "Gateway", namespace: "web", name: "gate" },
        service("one"),
      ],
    },
  ],
  [
    "a Gateway",
    object("gateway.networking.k8s.io/v1", "Gateway", {
      spec: {
        listeners: [
          { hostname: "a.example", protocol: "HTTPS", port: 443 },
          { protocol: "HTTP", port: 8080 },
        ],
      },
      status: { addresses: [{ type: "IPAddress", value: "192.0.2.1" }] },
    }),
    { ingress: [{ ip: "192.0.2.1" }], externalURLs: ["https://a.example", "http://192.0.2.1:8080"] },
  ],
  [
    "links of any object, but none that a browser would run",
    object(
      "v1",
      "ConfigMap",
      {},
      { "link.argocd.argoproj.io/a": "Docs|https://a.example", "link.argocd.argoproj.io/b": "javascript:alert(1)" },
    ),
    { externalURLs: ["Docs|https://a.example"] },
  ],
  ["what has no traffic", object("v1", "ConfigMap", {}), undefined],
  [
    "an Ingress of an odd shape",
    object("networking.k8s.io/v1", "Ingress", { spec: { rules: [null, 3, { http: { paths: "x" } }] } }),
    {},
  ],
])("%s", (_name, given, want) => {
  expect(networkingOf(given)).toEqual(want);
});
