import {
  validateApplicationSetSpec,
  validateApplicationSpec,
  validateAppProjectSpec,
} from "../../../../openapi/contract/validators.js";
import type { KubeObject } from "../../../kube/object.ts";
import { toProjectSpec } from "../deliveries/project.ts";
import { toSetSpec } from "../deliveries/set.ts";
import { toApplicationSpec } from "../deliveries/spec.ts";
import { importApplication, importApplicationSet, importAppProject } from "./import.ts";
import { importCluster, importRepository } from "./import-secrets.ts";

const REPO = "https://git.example.com/shop.git";
const HOME = { server: "https://kubernetes.default.svc", namespace: "shop" };
const argo = (kind: string, spec: object, metadata: object = {}): KubeObject => ({
  apiVersion: "argoproj.io/v1alpha1",
  kind,
  metadata: { name: "shop", namespace: "argocd", ...metadata },
  spec,
});
const application = (spec: object, metadata: object = {}) =>
  importApplication(argo("Application", { project: "default", destination: HOME, ...spec }, metadata));

const SOURCES: Record<string, [given: object, want: object]> = {
  "a folder at the default branch": [
    { repoURL: REPO, path: "web", targetRevision: "HEAD" },
    { repoUrl: REPO, path: "web" },
  ],
  "a chart at its newest version": [
    { repoURL: "https://charts.example.com", chart: "web", targetRevision: "*" },
    { repoUrl: "https://charts.example.com", chart: "web" },
  ],
  "Helm values": [
    {
      repoURL: REPO,
      path: "web",
      targetRevision: "v1",
      helm: { releaseName: "x", valuesObject: { a: [1, { b: true }] }, valueFiles: ["p.yaml"] },
    },
    {
      repoUrl: REPO,
      path: "web",
      targetRevision: "v1",
      helm: { releaseName: "x", valuesObject: { a: [1, { b: true }] }, valueFiles: ["p.yaml"] },
    },
  ],
  "Kustomize with a count as a text": [
    { repoURL: REPO, path: ".", kustomize: { images: ["a:1"], replicas: [{ name: "web", count: "3" }] } },
    { repoUrl: REPO, path: ".", kustomize: { images: ["a:1"], replicas: [{ name: "web", count: 3 }] } },
  ],
};

test.each(Object.entries(SOURCES))("a source of Argo CD becomes one of ours: %s", (_, [given, want]) => {
  const imported = application({ source: given });
  expect(imported.inexpressible).toEqual([]);
  expect(imported.spec?.source).toEqual(want);
  expect(imported.cluster).toBeUndefined();
});

const FULL = {
  project: "shop",
  sources: [
    { repoURL: REPO, targetRevision: "main", ref: "values" },
    {
      repoURL: "https://charts.example.com",
      chart: "web",
      targetRevision: "1.x",
      helm: { valueFiles: ["$values/prod.yaml"] },
    },
  ],
  destination: { name: "in-cluster", namespace: "shop" },
  syncPolicy: {
    automated: { prune: true, selfHeal: true },
    syncOptions: ["CreateNamespace=true"],
    retry: { limit: 3, backoff: { duration: "5s", factor: 2, maxDuration: "3m" } },
  },
  ignoreDifferences: [{ group: "apps", kind: "Deployment", jsonPointers: ["/spec/replicas"] }],
  info: [{ name: "owner", value: "team" }],
  revisionHistoryLimit: 5,
};

test("what our specification can say comes back from it as it was", () => {
  const imported = application(FULL);
  expect(imported.inexpressible).toEqual([]);
  const spec = { ...imported.spec, agent: "one" };
  expect(validateApplicationSpec(spec)).toBe(true);
  expect(toApplicationSpec(spec as never, {})).toEqual({ kind: "done", value: FULL });
});

const DESTINATIONS: [given: object, cluster: object | undefined][] = [
  [{ server: "https://kubernetes.default.svc" }, undefined],
  [{ name: "in-cluster" }, undefined],
  [{ namespace: "shop" }, undefined],
  [{ server: "https://10.0.0.1:6443" }, { server: "https://10.0.0.1:6443" }],
  [{ name: "prod" }, { name: "prod" }],
];
test.each(DESTINATIONS)(
  "the cluster of a destination is told by name or address, the agent's own by nothing: %j",
  (destination, cluster) => {
    expect(application({ destination, source: { repoURL: REPO, path: "." } }).cluster).toEqual(cluster);
  },
);

const LOST: [given: object, lost: string[]][] = [
  [{ source: { repoURL: REPO, path: ".", helm: { version: "v3", releaseName: "x" } } }, ["source.helm.version"]],
  [{ source: { repoURL: REPO, path: "../up" } }, ["source.path"]],
  [{ source: { repoURL: REPO, path: "." }, sourceHydrator: { drySource: {}, syncSource: {} } }, ["sourceHydrator"]],
  [
    { source: { repoURL: REPO, path: "." }, syncPolicy: { retry: { backoff: { duration: "1m30s", factor: 2 } } } },
    ["syncPolicy.retry.backoff.duration"],
  ],
];
test.each(LOST)("what our specification has no field for is left out and named: %#", (given, lost) => {
  const imported = application(given);
  expect(imported.inexpressible).toEqual(lost);
  expect(validateApplicationSpec({ ...imported.spec, agent: "one" })).toBe(true);
});

test("no password of an address is told, wherever the address stands", () => {
  const imported = application({
    source: {
      repoURL: "https://bot:s3cret@git.example.com/shop.git",
      path: ".",
      helm: { values: "mirror: https://u:s3cret@mirror\n" },
    },
    info: [{ name: "clone", value: "git clone https://s3cret@git.example.com/x" }],
  });
  expect(JSON.stringify(imported)).not.toContain("s3cret");
  expect(imported.spec?.source).toMatchObject({ repoUrl: "https://git.example.com/shop.git" });
  expect(imported.inexpressible).toEqual(["info.0.value", "source.helm.values", "source.repoURL"]);
});

test("labels come along, but for those that say whose an object is", () => {
  const labels = { team: "shop", "outpost.dev/managed": "true" };
  expect(application({ source: { repoURL: REPO, path: "." } }, { labels }).spec?.labels).toEqual({ team: "shop" });
});

test("a set says its template language, and its steps come back as they were", () => {
  const spec = {
    generators: [{ list: { elements: [{ name: "a" }] } }],
    template: {
      metadata: { name: "{{name}}" },
      spec: { project: "default", destination: HOME, source: { repoURL: REPO, path: "{{name}}" } },
    },
    strategy: {
      type: "RollingSync",
      rollingSync: { steps: [{ matchExpressions: [{ key: "env", operator: "In", values: ["dev"] }], maxUpdate: 2 }] },
    },
  };
  const imported = importApplicationSet(argo("ApplicationSet", spec));
  expect(imported.inexpressible).toEqual([]);
  const ours = { ...imported.spec, agent: "one" };
  expect(validateApplicationSetSpec(ours)).toBe(true);
  expect(toSetSpec(ours as never)).toEqual({ ...spec, goTemplate: false });
});

test("a project comes back as it was; tokens of its roles, which only Argo CD's own API has, are named", () => {
  const spec = {
    sourceRepos: ["*"],
    destinations: [{ server: "*", namespace: "shop-*" }],
    clusterResourceWhitelist: [{ group: "", kind: "Namespace" }],
    namespaceResourceBlacklist: [{ group: "apps", kind: "DaemonSet" }],
    roles: [{ name: "ci", policies: ["p, x"] }],
  };
  const imported = importAppProject(
    argo("AppProject", { ...spec, roles: [{ ...spec.roles[0], jwtTokens: [{ iat: 1 }] }] }),
  );
  expect(imported.inexpressible).toEqual(["roles.0.jwtTokens"]);
  const ours = { ...imported.spec, agent: "one" };
  expect(validateAppProjectSpec(ours)).toBe(true);
  expect(toProjectSpec(ours as never)).toEqual(spec);
});

const secret = (data: Record<string, string>): KubeObject => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: "s", namespace: "argocd" },
  data: Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString("base64")])),
});

test("of a repository's Secret only address, type and the names of its other fields are told", () => {
  const imported = importRepository(
    secret({ url: "https://bot:s3cret@git.example.com/x.git", type: "git", username: "bot", password: "s3cret" }),
  );
  expect(imported).toEqual({
    spec: { url: "https://git.example.com/x.git", type: "git" },
    inexpressible: ["password", "url", "username"],
  });
});

test("of a cluster's Secret only name, address and namespaces are told", () => {
  const config = JSON.stringify({ bearerToken: "s3cret" });
  const imported = importCluster(secret({ name: "prod", server: "https://10.0.0.1", namespaces: "a, b", config }));
  expect(imported).toEqual({
    spec: { server: "https://10.0.0.1", namespaces: ["a", "b"], clusterResources: false },
    cluster: { name: "prod", server: "https://10.0.0.1" },
    inexpressible: ["config"],
  });
});

test("a specification that cannot be said at all is named as a whole", () => {
  expect(importCluster(secret({ server: "nonsense" }))).toMatchObject({ inexpressible: ["spec"] });
  let deep: unknown = "x";
  for (let i = 0; i < 200; i++) deep = { deep };
  expect(application({ source: { repoURL: REPO, path: ".", helm: { valuesObject: deep } } }).inexpressible).toEqual([
    "spec",
  ]);
});
