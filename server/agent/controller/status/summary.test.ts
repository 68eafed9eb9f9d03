import type { KubeObject } from "../../../kube/object.ts";
import type { Application } from "../application.ts";
import { resultOf } from "../sync/results.ts";
import { imagesOf, summaryOf } from "./summary.ts";

const app = (annotations: Record<string, string> = {}) =>
  ({
    apiVersion: "argoproj.io/v1alpha1",
    kind: "Application",
    metadata: { name: "shop", annotations },
    spec: {},
  }) as unknown as Application;
const ingress = (spec: unknown, annotations: Record<string, string> = {}, status: unknown = {}): KubeObject => ({
  apiVersion: "networking.k8s.io/v1",
  kind: "Ingress",
  metadata: { name: "web", annotations },
  spec,
  status,
});
const rule = (host: string | undefined, ...paths: (string | undefined)[]) => ({
  host,
  http: { paths: paths.map((path) => ({ path })) },
});
const web = (annotations: Record<string, string>): KubeObject => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: "web", annotations },
});
const link = (value: string) => ({ "link.argocd.argoproj.io/external-link": value });
const balanced = (...all: object[]) => ({ loadBalancer: { ingress: all } });

test.each<[string, KubeObject, string[]]>([
  [
    "a host and its paths",
    ingress({ rules: [rule("shop.example", "/", "/api/*", undefined)] }),
    ["http://shop.example", "http://shop.example/", "http://shop.example/api/"],
  ],
  [
    "a certificate of its own",
    ingress({ rules: [rule("shop.example", "/")], tls: [{ secretName: "cert" }] }),
    ["https://shop.example/"],
  ],
  [
    "a certificate that somebody else brings",
    ingress({ rules: [rule("a.example", ""), rule("b.example", "")], tls: [{ hosts: ["a.example"] }] }),
    ["http://b.example", "https://a.example"],
  ],
  [
    "no host, and a load balancer with a name",
    ingress({ rules: [rule(undefined, "/")] }, {}, balanced({ ip: "192.0.2.1" })),
    ["http://192.0.2.1/"],
  ],
  ["no host, and none yet", ingress({ rules: [rule("", "/")] }), []],
  ["no path", ingress({ rules: [{ host: "shop.example" }] }), []],
  [
    "its links are not wanted",
    ingress(
      { rules: [rule("shop.example", "/")] },
      { "argocd.argoproj.io/ignore-default-links": "true", ...link("https://docs.example") },
    ),
    ["https://docs.example"],
  ],
  ["a link with a title", web(link("Graphs|https://grafana.example/d/1")), ["Graphs|https://grafana.example/d/1"]],
  ["what a browser would run", web(link("Click|javascript:alert(1)")), []],
  ["a shape that no Ingress has", ingress({ rules: "all", tls: { hosts: 1 } }, {}, { loadBalancer: [] }), []],
  ["items that are none", ingress({ rules: [null, { host: "x", http: { paths: [null] } }], tls: [null] }), []],
])("where an application is reached: %s", (_, object, want) => {
  expect(summaryOf(app(), [object], []).externalURLs ?? []).toEqual(want);
});

test("links of the application count, each address once, and not more of them than a status has room for", () => {
  const summary = summaryOf(
    app(link("https://docs.example")),
    [web(link("https://docs.example")), web(link(`https://${"a".repeat(3_000)}`))],
    ["web:1"],
  );
  expect(summary).toEqual({ images: ["web:1"], externalURLs: ["https://docs.example"] });
  const many = Array.from({ length: 500 }, (_, i) => web(link(`https://h${i}.example`)));
  expect(summaryOf(app(), many, []).externalURLs).toHaveLength(200);
});

test("what deploys applications says so, and nothing is said where there is nothing to say", () => {
  expect(summaryOf(app(), [app()], [])).toEqual({ isAppOfApps: true });
  expect(summaryOf(app(), [web({})], [])).toEqual({});
});

const pod = { initContainers: [{ image: "init:1" }], containers: [{ image: "web:1" }, null, { name: "none" }] };
test.each<[string, object, string[], string[]]>([
  ["a Pod", { kind: "Pod", spec: pod }, ["init:1", "web:1"], ["web:1"]],
  ["a template", { kind: "Deployment", spec: { template: { spec: pod } } }, ["init:1", "web:1"], ["web:1"]],
  [
    "a CronJob",
    { kind: "CronJob", spec: { jobTemplate: { spec: { template: { spec: pod } } } } },
    ["init:1", "web:1"],
    ["web:1"],
  ],
  ["something else", { kind: "ConfigMap", data: {} }, [], []],
  ["a shape that nothing has", { kind: "Pod", spec: { initContainers: 1, containers: { image: "x" } } }, [], []],
])("the images of %s", (_, object, all, staying) => {
  expect([imagesOf(object as KubeObject), imagesOf(object as KubeObject, { begins: false })]).toEqual([all, staying]);
});

test("images have a bound of their own, one by one and together", () => {
  const containers = Array.from({ length: 20_000 }, (_, i) => ({ image: `registry.example/${"x".repeat(60)}:${i}` }));
  const pod: KubeObject = { apiVersion: "v1", kind: "Pod", metadata: { name: "p" }, spec: { containers } };
  expect(Buffer.byteLength(JSON.stringify(summaryOf(app(), [], imagesOf(pod))))).toBeLessThan(270_000);
  const long = { ...pod, spec: { containers: [{ image: "x".repeat(1_025) }, { image: "a" }] } };
  expect(imagesOf(long)).toEqual(["a"]);
  const few = ["a:1", "b:2"];
  expect(summaryOf(app(), [], few)).toEqual({ images: few });
});

test("of one object a sync tells no more images than have room", () => {
  const containers = Array.from({ length: 5_000 }, (_, i) => ({ image: `registry.example/app:${i}` }));
  const object: KubeObject = { apiVersion: "v1", kind: "Pod", metadata: { name: "p" }, spec: { containers } };
  const { images } = resultOf({ id: "i", key: "k", phase: "Sync", wave: 0, object, hook: false }, { status: "Synced" });
  expect(Buffer.byteLength(JSON.stringify(images))).toBeLessThan(8_200);
  expect(images!.slice(0, 2)).toEqual(["registry.example/app:0", "registry.example/app:1"]);
});
