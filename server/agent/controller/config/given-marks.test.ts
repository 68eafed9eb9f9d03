import { done, stop } from "../../../base/outcome.ts";
import { KUBE } from "../../../kube/errors.ts";
import type { KubeObject } from "../../../kube/object.ts";
import { TENANT } from "../../project/tenant.ts";
import type { Application } from "../application.ts";
import type { Destination } from "../destination.ts";
import { ensureNamespace } from "../sync/apply.ts";
import { BY_ANNOTATION, type Tracking } from "../tracking.ts";
import { inherited } from "./tenancy.ts";

const ID = "argocd.argoproj.io/tracking-id";
const LABEL = "outpost.dev/app";
const forged = (kind: string) => ({
  labels: { [LABEL]: "till", tier: "web" },
  annotations: { [ID]: `till:/${kind}:shop/web-0`, "argocd.argoproj.io/installation-id": "", note: "1" },
});
const clean = { labels: { tier: "web" }, annotations: { note: "1" } };
const app = (tenant?: string) =>
  ({
    metadata: { name: "mine", ...(tenant ? { annotations: { [TENANT]: tenant } } : {}) },
    spec: { destination: { namespace: "shop" }, syncPolicy: { managedNamespaceMetadata: forged("Namespace") } },
  }) as unknown as Application;
const HOME = { own: "argocd", tenant: undefined, settings: { tracking: BY_ANNOTATION } };

const stateful = (pod: object, claim: object): KubeObject => ({
  apiVersion: "apps/v1",
  kind: "StatefulSet",
  metadata: { name: "web", namespace: "shop" },
  spec: {
    selector: { matchLabels: { tier: "web" } },
    template: { metadata: pod },
    volumeClaimTemplates: [{ metadata: { name: "data", ...claim } }],
  },
});
const cron = (job: object, pod: object): KubeObject => ({
  apiVersion: "batch/v1",
  kind: "CronJob",
  metadata: { name: "web", namespace: "shop" },
  spec: { jobTemplate: { metadata: job, spec: { template: { metadata: pod } } } },
});
const custom = (labels: object, annotations: object): KubeObject => ({
  apiVersion: "example.com/v1",
  kind: "Database",
  metadata: { name: "web", namespace: "shop" },
  spec: { commonLabels: labels, pods: [{ podAnnotations: annotations }] },
});
const Pod = forged("Pod");

test.each<[what: string, given: KubeObject, want: KubeObject]>([
  ["Pods and claims of a set", stateful(Pod, forged("PersistentVolumeClaim")), stateful(clean, clean)],
  ["Jobs and their Pods", cron(forged("Job"), Pod), cron(clean, clean)],
  ["what an operator makes", custom(Pod.labels, Pod.annotations), custom(clean.labels, clean.annotations)],
])("templates of a tenant mark nothing as another application's: %s", (_, given, want) => {
  const before = structuredClone(given);
  expect(inherited(app("a/-"), HOME, [given])).toEqual([want]);
  // Rendered objects are shared with the cache.
  expect(given).toEqual(before);
  expect(inherited(app(), HOME, [given])).toEqual([given]);
});

test("what a policy selects by stays: with a label less it would select all", () => {
  const policy: KubeObject = {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: { name: "web", namespace: "shop" },
    spec: { podSelector: { matchLabels: { [LABEL]: "mine" } } },
  };
  expect(inherited(app("a/-"), HOME, [policy])).toEqual([policy]);
});

test("templates nested a thousand deep are looked through", () => {
  let spec: object = forged("Pod");
  for (let n = 0; n < 1_000; n++) spec = { template: spec };
  const object = { ...stateful({}, {}), spec } as KubeObject;
  const [found] = inherited(app("a/-"), HOME, [object]);
  let inner = found!.spec as { template?: object };
  while (inner.template) inner = inner.template;
  expect(inner).toEqual(clean);
});

test.each<[tenant: string | undefined, want: object]>([
  ["a/-", clean],
  [undefined, forged("Namespace")],
])("a namespace that an application of scope %s makes", async (tenant, want) => {
  const applied: KubeObject[] = [];
  const none = async () => stop(KUBE.notFound, "none");
  const apply = async (_: unknown, object: KubeObject) => done(applied[applied.push(object) - 1]!);
  const destination = {
    writer: { apply },
    client: { get: none },
    namespaces: new Set(),
    ...HOME,
  } as unknown as Destination;
  await ensureNamespace(destination, app(tenant));
  const { annotations, labels } = want as typeof clean;
  const options = { "argocd.argoproj.io/sync-options": "ServerSideApply=true" };
  expect(applied[0]!.metadata).toMatchObject({ name: "shop" });
  expect(applied[0]!.metadata.labels).toEqual(labels);
  expect(applied[0]!.metadata.annotations).toEqual({ ...annotations, ...options });
});

describe.each(["app.kubernetes.io/instance", "corp.example/part-of"])("tracked by label %s", (labelKey) => {
  const tracking: Tracking = { method: "label", labelKey, installation: "" };
  const tenants: Record<string, string | undefined> = { till: "b/-", own: "a/web", agents: undefined };
  const application = (name: string) =>
    name in tenants
      ? ({ metadata: { name, annotations: { [TENANT]: tenants[name] ?? "" } } } as unknown as Application)
      : undefined;
  const known = { ...HOME, settings: { tracking }, application };
  const labelled = (value: string, selected = value): KubeObject => ({
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { name: "web", namespace: "shop" },
    spec: {
      selector: { matchLabels: { [labelKey]: selected } },
      template: { metadata: { labels: { [labelKey]: value } } },
      volumeClaimTemplates: [{ metadata: { name: "data", labels: { [labelKey]: value } } }],
    },
  });

  test.each([
    ["another tenant's application", "till", "mine"],
    ["an application of the agent's own scope", "agents", "mine"],
    ["an application of a scope below", "own", "own"],
    ["itself", "mine", "mine"],
    ["a release", "release", "release"],
  ])("a template that names %s", (_, value, want) => {
    expect(inherited(app("a/-"), known, [labelled(value)])).toEqual([labelled(want)]);
  });

  test("what the object selects for another reason stays", () => {
    expect(inherited(app("a/-"), known, [labelled("till", "release")])).toEqual([labelled("mine", "release")]);
  });

  test("the agent's own applications say what they like", () => {
    expect(inherited(app(), known, [labelled("till")])).toEqual([labelled("till")]);
  });
});
