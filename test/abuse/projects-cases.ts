import { configMap } from "../journeys/engine-world.ts";
import type { GitServer } from "../servers/git.ts";

/** What a team writes into its repository `ours/…` and into an application of its project, to get at what is not its own. */
export interface Attempt {
  files?: Record<string, string>;
  spec?: object;
  annotations?: Record<string, string>;
  finalizers?: string[];
  operation?: object;
  status?: object;
}

const RBAC = "rbac.authorization.k8s.io";
const OPTIONS = "argocd.argoproj.io/sync-options";
const object = (head: string, metadata: string, rest = "") => `${head}\nmetadata: {${metadata}}\n${rest}\n`;
const SECRET_HEAD = "apiVersion: v1\nkind: Secret";
const CM = "apiVersion: v1\nkind: ConfigMap";
const chart = (template: string) => ({
  "Chart.yaml": "apiVersion: v2\nname: c\nversion: 0.1.0\n",
  "templates/x.yaml": template,
});
const jobYaml = (where: string, annotations: string) =>
  object(
    "apiVersion: batch/v1\nkind: Job",
    `name: job, namespace: ${where}, annotations: {${annotations}}`,
    "spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: x}]}}}",
  );
const operating = (operation: object): Attempt => ({ files: { "a.yaml": configMap("own", {}) }, operation });

export function attempts(git: GitServer): [string, Attempt][] {
  const stolenSource = { repoURL: git.cloneUrl("theirs/code"), path: ".", targetRevision: "main" };
  const ownSource = { repoURL: git.cloneUrl("ours/base"), path: ".", targetRevision: "main" };
  const own = { "a.yaml": configMap("own", {}) };
  const look = chart(
    `${CM}\nmetadata: {name: look}\ndata: {x: {{ (lookup "v1" "Secret" "theirs" "token") | toJson | quote }}}\n`,
  );
  return [
    // Where its objects go.
    [
      "an object in their namespace",
      { files: { "a.yaml": configMap("app", { text: "mine" }, ", namespace: theirs") } },
    ],
    ["an object in the system's namespace", { files: { "a.yaml": configMap("x", {}, ", namespace: kube-system") } }],
    ["their namespace as its destination", { spec: { destination: { name: "in-cluster", namespace: "theirs" } } }],
    ["no namespace as its destination", { spec: { destination: { name: "in-cluster", namespace: "" } } }],
    ["a namespace that is a path", { spec: { destination: { name: "in-cluster", namespace: "ours/../theirs" } } }],
    [
      "another spelling of the cluster",
      { spec: { destination: { server: "https://kubernetes.default.svc/", namespace: "theirs" } } },
    ],
    ["a cluster by its name in capitals", { spec: { destination: { name: "IN-CLUSTER", namespace: "theirs" } } }],
    ["an object whose namespace is a path", { files: { "a.yaml": configMap("x", {}, ', namespace: "../theirs"') } }],
    ["an object whose namespace is two dots", { files: { "a.yaml": configMap("x", {}, ', namespace: ".."') } }],
    ["an object whose name is two dots", { files: { "a.yaml": configMap('".."', {}) } }],
    ["an object whose name is a path", { files: { "a.yaml": configMap('"../../theirs/configmaps/app"', {}) } }],
    ["an object whose name is a question", { files: { "a.yaml": configMap('"own?dryRun=All"', {}) } }],
    ["an object whose name looks alike", { files: { "a.yaml": configMap('"аpp"', {}, ", namespace: thеirs") } }],
    [
      "a namespace that kustomize sets",
      { files: { "kustomization.yaml": "namespace: theirs\nresources: [a.yaml]\n", "a.yaml": configMap("app", {}) } },
    ],
    [
      "a namespace that its source sets for kustomize",
      {
        files: { "kustomization.yaml": "resources: [a.yaml]\n", "a.yaml": configMap("app", {}) },
        spec: { source: { ...ownSource, kustomize: { namespace: "theirs" } } },
      },
    ],
    [
      "a namespace of a chart's release",
      {
        files: chart(`${CM}\nmetadata: {name: app, namespace: {{ .Release.Namespace }}}\n`),
        spec: { source: { ...ownSource, helm: { namespace: "theirs" } } },
      },
    ],
    ["the agent's own settings", { files: { "a.yaml": configMap("argocd-cm", {}, ", namespace: outpost-agent") } }],
    // What they are.
    ["a kind that is denied", { files: { "a.yaml": object(SECRET_HEAD, "name: mine") } }],
    [
      "a kind that is denied, in a list",
      {
        files: {
          "a.yaml": `apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Secret, metadata: {name: mine}}\n`,
        },
      },
    ],
    [
      "a kind that is denied, in a list of lists",
      {
        files: {
          "a.yaml": `apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: List\n  items:\n  - {apiVersion: v1, kind: Secret, metadata: {name: mine}}\n`,
        },
      },
    ],
    [
      "a kind that is denied, in a list of its own",
      { files: { "a.yaml": "apiVersion: v1\nkind: SecretList\nitems:\n- {metadata: {name: mine}}\n" } },
    ],
    [
      "a kind that is denied, spelled otherwise",
      { files: { "a.yaml": object("apiVersion: v1\nkind: secret", "name: mine") } },
    ],
    [
      "a kind that is denied, in another version",
      { files: { "a.yaml": object("apiVersion: /v1\nkind: Secret", "name: mine") } },
    ],
    [
      "a kind that is denied, as a hook",
      { files: { "a.yaml": object(SECRET_HEAD, "name: mine, annotations: {argocd.argoproj.io/hook: PreSync}") } },
    ],
    [
      "a kind that is denied, when the sync fails",
      {
        files: {
          "b.yaml": configMap("x", {}, ", namespace: nowhere"),
          "a.yaml": object(SECRET_HEAD, "name: mine, annotations: {argocd.argoproj.io/hook: SyncFail}"),
        },
      },
    ],
    [
      "a kind that is denied, as Helm's hook",
      { files: { "a.yaml": object(SECRET_HEAD, "name: mine, annotations: {helm.sh/hook: pre-install}") } },
    ],
    [
      "a kind that is denied, made by kustomize",
      { files: { "kustomization.yaml": "secretGenerator: [{name: mine, literals: [a=b]}]\n" } },
    ],
    [
      "a kind that is denied, with options that skip what is checked",
      {
        files: {
          "a.yaml": object(
            SECRET_HEAD,
            'name: mine, annotations: {argocd.argoproj.io/sync-options: "SkipDryRunOnMissingResource=true,Validate=false,ServerSideApply=true"}',
          ),
        },
      },
    ],
    ["a hook in their namespace", { files: { "a.yaml": jobYaml("theirs", "argocd.argoproj.io/hook: PreSync") } }],
    [
      "a role of its namespace",
      { files: { "a.yaml": object(`apiVersion: ${RBAC}/v1\nkind: Role`, "name: escape", "rules: []") } },
    ],
    [
      "a role of the cluster",
      { files: { "a.yaml": object(`apiVersion: ${RBAC}/v1\nkind: ClusterRole`, "name: escape", "rules: []") } },
    ],
    ["a namespace of its own", { files: { "a.yaml": object("apiVersion: v1\nkind: Namespace", "name: made") } }],
    [
      "their namespace with other labels",
      {
        files: {
          "a.yaml": object(
            "apiVersion: v1\nkind: Namespace",
            "name: theirs, labels: {pod-security.kubernetes.io/enforce: privileged}",
          ),
        },
      },
    ],
    [
      "labels for its own namespace that lift what it forbids",
      {
        files: { "a.yaml": configMap("own", {}) },
        spec: {
          syncPolicy: {
            automated: {},
            retry: { limit: 0 },
            syncOptions: ["CreateNamespace=true"],
            managedNamespaceMetadata: { labels: { "pod-security.kubernetes.io/enforce": "privileged" } },
          },
        },
      },
    ],
    [
      "a definition, and an object of the cluster by it",
      {
        files: {
          "a.yaml": object(
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition",
            "name: evils.example.com",
            "spec: {group: example.com, scope: Cluster, names: {kind: Evil, plural: evils}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}",
          ),
          "b.yaml": object("apiVersion: example.com/v1\nkind: Evil", "name: evil"),
        },
      },
    ],
    [
      "an object of the cluster that says it has a namespace",
      {
        files: {
          "a.yaml": object(
            "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass",
            "name: escape, namespace: ours",
            "value: 1000000000",
          ),
        },
      },
    ],
    [
      "an object of the cluster in another version, with a namespace",
      {
        files: {
          "a.yaml": object(
            `apiVersion: ${RBAC}/v1beta9\nkind: ClusterRole`,
            "name: escape, namespace: ours",
            "rules: []",
          ),
        },
      },
    ],
    // The agent's own objects: an application of an application is under its project like any other.
    [
      "an application of another project",
      {
        files: {
          "a.yaml": object(
            "apiVersion: argoproj.io/v1alpha1\nkind: Application",
            "name: escaped, namespace: outpost-agent, labels: {escaped: x}",
            `spec: {project: default, source: {repoURL: "${git.cloneUrl("theirs/code")}", path: .}, destination: {name: in-cluster, namespace: theirs}}`,
          ),
        },
      },
    ],
    [
      "its own project with more rights",
      {
        files: {
          "a.yaml": object(
            "apiVersion: argoproj.io/v1alpha1\nkind: AppProject",
            "name: ours, namespace: outpost-agent",
            'spec: {sourceRepos: ["*"]}',
          ),
        },
      },
    ],
    [
      "a set of applications",
      {
        files: {
          "a.yaml": object(
            "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet",
            "name: escape, namespace: outpost-agent",
            "spec: {generators: [], template: {metadata: {name: x}, spec: {}}}",
          ),
        },
      },
    ],
    // Where it comes from.
    ["their repository as its source", { spec: { source: stolenSource } }],
    ["their repository among its sources", { spec: { source: undefined, sources: [ownSource, stolenSource] } }],
    [
      "their repository as values",
      { spec: { source: undefined, sources: [ownSource, { ...stolenSource, path: undefined, ref: "v" }] } },
    ],
    ["their repository by dots", { spec: { source: { ...ownSource, repoURL: `${git.url}/ours/../theirs/code.git` } } }],
    [
      "their repository by a backslash",
      { spec: { source: { ...ownSource, repoURL: `${git.url}/ours/..\\theirs\\code.git` } } },
    ],
    [
      "their repository by encoded dots",
      { spec: { source: { ...ownSource, repoURL: `${git.url}/ours/%2e%2e%2ftheirs%2fcode.git` } } },
    ],
    [
      "their repository as a user's name",
      { spec: { source: { ...ownSource, repoURL: `${git.url.replace("://", "://ours@")}/theirs/code.git` } } },
    ],
    ["their repository in an operation", operating({ sync: { source: stolenSource } })],
    [
      "their repository in an operation that prunes",
      operating({ sync: { source: stolenSource, prune: true, syncStrategy: { apply: { force: true } } } }),
    ],
    [
      "their repository among an operation's sources",
      operating({ sync: { sources: [stolenSource], revisions: ["main"] } }),
    ],
    [
      "their repository by an operation of a part",
      operating({ sync: { source: stolenSource, resources: [{ kind: "ConfigMap", name: "stolen" }] } }),
    ],
    [
      "their repository in an operation that has begun already, as its status says",
      {
        files: own,
        status: {
          operationState: {
            phase: "Running",
            startedAt: "2026-01-01T00:00:00Z",
            operation: { sync: { source: stolenSource, revision: "main" } },
            syncResult: { source: stolenSource, revision: "main" },
          },
        },
      },
    ],
    [
      "their repository in an operation that is to be tried again",
      {
        files: own,
        status: {
          operationState: {
            phase: "Running",
            message: "failed. Retrying attempt #1 at 2026-01-01T00:00:10Z.",
            startedAt: "2026-01-01T00:00:00Z",
            finishedAt: "2026-01-01T00:00:05Z",
            operation: { sync: { source: stolenSource }, retry: { limit: 1 } },
            syncResult: { source: stolenSource, revision: "main" },
          },
        },
      },
    ],
    [
      "objects in an operation itself",
      operating({ sync: { manifests: [configMap("app", { text: "mine" }, ", namespace: theirs")] } }),
    ],
    [
      "their repository, compared already as its status says",
      { spec: { source: stolenSource }, status: { sync: { status: "Synced" } } },
    ],
    // Whose objects they are.
    [
      "its objects marked as theirs",
      {
        files: {
          "a.yaml": configMap(
            "mark",
            {},
            ', labels: {outpost.dev/app: their-app}, annotations: {argocd.argoproj.io/tracking-id: "their-app:/ConfigMap:theirs/app"}',
          ),
        },
      },
    ],
    [
      "their object, replaced by force",
      {
        files: {
          "a.yaml": configMap(
            "settings",
            {},
            `, namespace: theirs, annotations: {${OPTIONS}: "Replace=true,Force=true"}`,
          ),
        },
      },
    ],
    [
      "their object among its own, as the status says, to be pruned",
      {
        files: own,
        status: {
          resources: [
            {
              version: "v1",
              kind: "ConfigMap",
              namespace: "theirs",
              name: "settings",
              status: "OutOfSync",
              requiresPruning: true,
            },
          ],
        },
        operation: { sync: { prune: true } },
      },
    ],
    [
      "an action on what is theirs",
      {
        files: own,
        annotations: {
          "outpost.dev/resource-action": JSON.stringify({
            id: "1",
            at: new Date().toISOString(),
            action: "restart",
            resource: { kind: "ConfigMap", namespace: "theirs", name: "settings" },
          }),
        },
      },
    ],
    [
      "a sync with all options that there are",
      {
        files: { "a.yaml": configMap("app", {}, ", namespace: theirs") },
        operation: {
          sync: {
            prune: true,
            syncStrategy: { apply: { force: true } },
            syncOptions: [
              "Replace=true",
              "Force=true",
              "ServerSideApply=true",
              "Validate=false",
              "RespectIgnoreDifferences=true",
            ],
          },
        },
      },
    ],
    // Charts that look at the cluster.
    ["a look at their Secret", { files: look, annotations: { "outpost.dev/helm-lookup": "theirs:default" } }],
    [
      "a look as one of the system's accounts",
      { files: look, annotations: { "outpost.dev/helm-lookup": "kube-system:generic-garbage-collector" } },
    ],
    ["a look as its own account", { files: look, annotations: { "outpost.dev/helm-lookup": "default" } }],
    // How it goes.
    [
      "a deletion whose hooks come from their repository",
      {
        spec: { source: stolenSource },
        finalizers: ["post-delete-finalizer.argocd.argoproj.io", "pre-delete-finalizer.argocd.argoproj.io"],
      },
    ],
    [
      "a deletion whose hooks go to their namespace",
      {
        files: { "a.yaml": jobYaml("theirs", "argocd.argoproj.io/hook: PostDelete") },
        finalizers: ["post-delete-finalizer.argocd.argoproj.io"],
      },
    ],
  ];
}
