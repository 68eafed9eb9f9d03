import { TENANT } from "../../server/agent/project/tenant.ts";
import { configMap } from "../journeys/engine-world.ts";

// What a tenant may try in one field of an application. Each trick is hostile by itself: it has to be refused alone, and no second trick may open
// the way for it. Tenant `b` attacks, tenant `a` and the agent's own scope are attacked.
export const A = "a/-";
export const B = "b/-";
export const OWN = "outpost-agent";
export const HOME = "https://kubernetes.default.svc";

export interface Places {
  /** The address of a repository by its name. */
  repository(name: string): string;
  /** A Git server that answers everything with a redirect to `a`'s repository. */
  redirect: string;
}
/** A part of an Application: fields of its specification, or manifests of its repository. */
export interface Trick {
  in: "source" | "destination" | "project" | "content";
  name: string;
  spec?: (at: Places) => Record<string, unknown>;
  manifest?: string;
}

const source = (name: string, url: (at: Places) => string): Trick => ({
  in: "source",
  name,
  spec: (at) => ({ source: { repoURL: url(at), path: ".", targetRevision: "main" } }),
});
const upper = (url: string) => url.replace("127.0.0.1", "LOCALHOST");
const SOURCES: Trick[] = [
  source("a's repository", (at) => at.repository("a/code")),
  source("a's repository without .git", (at) => at.repository("a/code").replace(/\.git$/, "")),
  source("a's repository with a slash", (at) => `${at.repository("a/code")}/`),
  source("a's repository by another name of its host", (at) => upper(at.repository("a/code"))),
  source("a's repository with a user of its own", (at) => at.repository("a/code").replace("://", "://ana@")),
  source("a repository below the agent's template", (at) => at.repository("platform/code")),
  source("a redirect to a's repository", (at) => at.redirect),
  {
    in: "source",
    name: "a's repository as a second source",
    spec: (at) => ({
      source: undefined,
      sources: [
        { repoURL: at.repository("b/code"), path: ".", targetRevision: "main" },
        { repoURL: at.repository("a/code"), path: ".", targetRevision: "main" },
      ],
    }),
  },
];

const destination = (name: string, where: object): Trick => ({
  in: "destination",
  name,
  spec: () => ({ destination: where }),
});
const DESTINATIONS: Trick[] = [
  destination("the agent's namespace", { name: "in-cluster", namespace: OWN }),
  destination("the agent's namespace by the cluster's address", { server: HOME, namespace: OWN }),
  destination("the agent's namespace by another spelling", { server: `${HOME}:443/`, namespace: OWN }),
  destination("a's cluster by its name", { name: "prod-a", namespace: "team-b" }),
  destination("a's cluster by its address", { server: "https://prod-a.example", namespace: "team-b" }),
  destination("a cluster of b's that is the agent's own", { name: "evil", namespace: "team-b" }),
];

const project = (name: string, value: string): Trick => ({ in: "project", name, spec: () => ({ project: value }) });
const PROJECTS: Trick[] = [
  project("a's project", "a"),
  project("default", "default"),
  project("a project kept to the agent's scope", "internal"),
  project("no project", ""),
  project("a project that lists b by a glob", "globbed"),
  project("a project that does not exist", "missing"),
];

const content = (name: string, manifest: string): Trick => ({ in: "content", name, manifest });
const TRACKING = "argocd.argoproj.io/tracking-id";
const secret = (type: string, metadata = "") =>
  `apiVersion: v1\nkind: Secret\nmetadata: {name: stolen-${type}, namespace: ${OWN}, labels: {argocd.argoproj.io/secret-type: ${type}}${metadata}}\nstringData: {url: "https://h/x", name: in-cluster, server: "${HOME}"}\n`;
const argo = (kind: string, metadata: string, spec = "{}") =>
  `apiVersion: argoproj.io/v1alpha1\nkind: ${kind}\nmetadata: {name: stolen, ${metadata}}\nspec: ${spec}\n`;
const APPLICATION = `{project: default, source: {repoURL: "https://git.example/x", path: .}, destination: {name: in-cluster, namespace: team-b}}`;
const CONTENTS: Trick[] = [
  content(
    "a's object by its tracking-id",
    configMap("app", { text: "b" }, `, namespace: team-a, annotations: {${TRACKING}: "victim:/ConfigMap:team-a/app"}`),
  ),
  content(
    "a's object by force",
    configMap(
      "app",
      { text: "b" },
      `, namespace: team-a, annotations: {argocd.argoproj.io/sync-options: "Force=true,Replace=true"}`,
    ),
  ),
  content(
    "a's object as a hook",
    configMap("app", { text: "b" }, `, namespace: team-a, annotations: {argocd.argoproj.io/hook: PreSync}`),
  ),
  content(
    "the settings of the agent",
    configMap("argocd-cm", { "application.sync.impersonation.enabled": "false" }, `, namespace: ${OWN}`),
  ),
  content(
    "the settings of the agent as a hook",
    configMap("argocd-cm", { a: "b" }, `, namespace: ${OWN}, annotations: {argocd.argoproj.io/hook: Sync}`),
  ),
  content("a repository's Secret", secret("repository")),
  content("a template's Secret", secret("repo-creds")),
  content("a cluster's Secret", secret("cluster", `, annotations: {${TENANT}: ${B}}`)),
  content(
    "a Secret in a List",
    `apiVersion: v1\nkind: List\nitems:\n  - ${secret("repository").trim().replace(/\n/g, "\n    ")}\n`,
  ),
  content(
    "a Secret by generateName as a hook",
    secret("cluster", ", annotations: {argocd.argoproj.io/hook: PreSync}").replace(
      "name: stolen-cluster,",
      "generateName: stolen-,",
    ),
  ),
  content("an Application beside the agent's", argo("Application", `namespace: ${OWN}`, APPLICATION)),
  content(
    "an ApplicationSet beside the agent's",
    argo(
      "ApplicationSet",
      `namespace: ${OWN}`,
      `{generators: [], template: {metadata: {name: x}, spec: ${APPLICATION}}}`,
    ),
  ),
  content("a project beside the agent's", argo("AppProject", `namespace: ${OWN}`, `{sourceRepos: ["*"]}`)),
  content(
    "an Application of a's",
    argo("Application", `namespace: team-b, annotations: {${TENANT}: ${A}}`, APPLICATION),
  ),
  content(
    "an Application that the service made",
    argo("Application", `namespace: team-b, labels: {outpost.dev/managed: "true"}`, APPLICATION),
  ),
  content(
    "a project that lists other scopes",
    argo("AppProject", `namespace: team-b, annotations: {outpost.dev/allowed-scopes: "a,b"}`, `{sourceRepos: ["*"]}`),
  ),
  content("the agent's Namespace", `apiVersion: v1\nkind: Namespace\nmetadata: {name: ${OWN}, labels: {a: b}}\n`),
  content(
    "the definition of Applications",
    "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: applications.argoproj.io}\nspec: {group: argoproj.io, names: {kind: Application, plural: applications}, scope: Cluster, versions: []}\n",
  ),
];

/** Every trick alone, and every two that stand in different fields; contents need a repository of b's own, so they go with no other source. */
export function combinations(): Trick[][] {
  const all = [...SOURCES, ...DESTINATIONS, ...PROJECTS, ...CONTENTS];
  const fits = (one: Trick, two: Trick) => one.in !== two.in && !(one.in === "source" && two.in === "content");
  return [
    ...all.map((one) => [one]),
    ...all.flatMap((one, i) => all.slice(i + 1).flatMap((two) => (fits(one, two) ? [[one, two]] : []))),
  ];
}

/** What a set's template may say of the applications that it makes. */
export const FORGERIES: [name: string, metadata: object][] = [
  ["nothing", {}],
  ["a's mark", { annotations: { [TENANT]: A } }],
  ["the agent's own scope", { annotations: { [TENANT]: "", "outpost.dev/scope": "acme/-/-" } }],
  ["that the service made it", { labels: { "outpost.dev/managed": "true" } }],
  ["a delivery's number", { annotations: { "outpost.dev/generation": "9", "outpost.dev/uid": "u" } }],
  ["a's namespace", { namespace: "team-a" }],
  [
    "that it is a part of a's application",
    { annotations: { [TRACKING]: `victim:argoproj.io/Application:${OWN}/attack` } },
  ],
  ["that it is watched with a's application", { labels: { "outpost.dev/app": "victim" } }],
  ["that another installation has it", { annotations: { "argocd.argoproj.io/installation-id": "theirs" } }],
];
/** Specifications that a set combines with them. */
export const TEMPLATES: Trick[] = [...SOURCES.slice(0, 6), ...DESTINATIONS, ...PROJECTS];
