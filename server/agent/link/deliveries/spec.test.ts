import type { Schemas } from "../../../../openapi/client.ts";
import { toApplicationSpec } from "./spec.ts";

type Spec = Schemas["ApplicationSpec"];
const base: Spec = {
  agent: "one",
  argoProject: "default",
  revisionHistoryLimit: 10,
  destination: { namespace: "web" },
};
const source = { repoURL: "https://git.example.com/a.git", targetRevision: "HEAD" };
const fixed = { project: "default", revisionHistoryLimit: 10, destination: { name: "in-cluster", namespace: "web" } };

const table: [
  string,
  { given: Partial<Spec>; resolved?: Parameters<typeof toApplicationSpec>[1]; want: Record<string, unknown> | string },
][] = [
  [
    "a source by address",
    { given: { source: { repoUrl: source.repoURL, path: "x" } }, want: { ...fixed, source: { ...source, path: "x" } } },
  ],
  [
    "a source by repository",
    {
      given: { source: { repository: "org.apps", path: "x", targetRevision: "v1" } },
      resolved: { repositories: [source.repoURL] },
      want: { ...fixed, source: { repoURL: source.repoURL, path: "x", targetRevision: "v1" } },
    },
  ],
  [
    "a repository that is gone",
    { given: { source: { repository: "gone" } }, resolved: { repositories: [null] }, want: "RepositoryNotResolved" },
  ],
  [
    "several sources, each with its own address",
    {
      given: {
        sources: [
          { repository: "a", chart: "web" },
          { repoUrl: "https://git.example.com/b.git", ref: "values" },
        ],
      },
      resolved: { repositories: ["https://charts.example.com", null] },
      want: {
        ...fixed,
        sources: [
          { repoURL: "https://charts.example.com", chart: "web", targetRevision: "*" },
          { repoURL: "https://git.example.com/b.git", ref: "values", targetRevision: "HEAD" },
        ],
      },
    },
  ],
  [
    "a cluster by name",
    {
      given: { source: { repoUrl: source.repoURL }, destination: { cluster: "account.prod" } },
      resolved: { cluster: { name: "prod-0a1b2c", server: "https://10.0.0.1" } },
      want: { ...fixed, source, destination: { name: "prod-0a1b2c" } },
    },
  ],
  [
    "a cluster that is gone",
    { given: { source: { repoUrl: source.repoURL }, destination: { cluster: "gone" } }, want: "ClusterNotResolved" },
  ],
  [
    "tools, policy, rules and notes as they are",
    {
      given: {
        argoProject: "team",
        source: {
          repoUrl: source.repoURL,
          helm: { values: "a: 1", parameters: [{ name: "b", value: "2" }] },
          kustomize: { images: ["a:1"] },
          directory: { recurse: true },
        },
        syncPolicy: {
          automated: { prune: true },
          syncOptions: ["CreateNamespace=true"],
          retry: { limit: 3, backoff: { duration: "5s" } },
        },
        ignoreDifferences: [{ kind: "Deployment", group: "apps", jsonPointers: ["/spec/replicas"] }],
        info: [{ name: "owner", value: "me" }],
        revisionHistoryLimit: 0,
      },
      want: {
        ...fixed,
        project: "team",
        revisionHistoryLimit: 0,
        source: {
          ...source,
          helm: { values: "a: 1", parameters: [{ name: "b", value: "2" }] },
          kustomize: { images: ["a:1"] },
          directory: { recurse: true },
        },
        syncPolicy: {
          automated: { prune: true },
          syncOptions: ["CreateNamespace=true"],
          retry: { limit: 3, backoff: { duration: "5s" } },
        },
        ignoreDifferences: [{ kind: "Deployment", group: "apps", jsonPointers: ["/spec/replicas"] }],
        info: [{ name: "owner", value: "me" }],
      },
    },
  ],
  [
    "a project of the service by its name here",
    {
      given: {
        source: { repoUrl: source.repoURL, plugin: { name: "p", env: [{ name: "A", value: "b" }] } },
        appProject: "team",
      },
      resolved: { appProject: "team-0a1b2c" },
      want: {
        ...fixed,
        project: "team-0a1b2c",
        source: { ...source, plugin: { name: "p", env: [{ name: "A", value: "b" }] } },
      },
    },
  ],
  [
    "a project that is gone",
    { given: { source: { repoUrl: source.repoURL }, appProject: "gone" }, want: "ProjectNotResolved" },
  ],
  [
    "automated sync that is present but empty",
    {
      given: { source: { repoUrl: source.repoURL }, syncPolicy: { automated: {} } },
      want: { ...fixed, source, syncPolicy: { automated: {} } },
    },
  ],
  [
    "a policy that says nothing",
    { given: { source: { repoUrl: source.repoURL }, syncPolicy: { syncOptions: [] } }, want: { ...fixed, source } },
  ],
];
test.each(table)("maps %s", (_name, { given, resolved, want }) => {
  const got = toApplicationSpec({ ...base, ...given }, resolved);
  if (typeof want === "string") expect(got).toMatchObject({ kind: "stop", reason: want });
  else expect(got).toEqual({ kind: "done", value: want });
});
