import { type BadForm, git, source, template } from "./bases.ts";

/** What works must pass. */
export const GOOD: readonly [collection: BadForm["collection"], spec: Record<string, unknown>][] = [
  ...[
    "CreateNamespace=true",
    "Prune=false",
    "Prune=confirm",
    "Delete=confirm",
    "PruneLast=true",
    "ApplyOutOfSyncOnly=true",
    "ServerSideApply=true",
    "ServerSideApply=false",
    "Replace=true",
    "Force=true",
    "Validate=false",
    "SkipDryRunOnMissingResource=true",
    "FailOnSharedResource=true",
    "RespectIgnoreDifferences=true",
    "ClientSideApplyMigration=false",
    "PrunePropagationPolicy=background",
  ].map(
    (text) =>
      ["applications", { syncPolicy: { syncOptions: [text] } }] as [BadForm["collection"], Record<string, unknown>],
  ),
  ...[
    ".spec.replicas",
    ".spec.template.spec.containers[].image",
    '.metadata.annotations["a.b/c"]',
    ".webhooks[]?.clientConfig.caBundle",
    '.spec.template.spec.initContainers[] | select(.name == "injected-init-container")',
    '.data | keys[] | select(startswith("a"))',
    ".spec.a // .spec.b",
    '.spec | to_entries[] | select(.key | test("^a"))',
    ".status",
    "..",
    ".a as $x | $x",
    "reduce .a[] as $x (0; . + $x)",
    '."a-b"',
  ].map(
    (text) =>
      ["applications", { ignoreDifferences: [{ kind: "Deployment", group: "apps", jqPathExpressions: [text] }] }] as [
        BadForm["collection"],
        Record<string, unknown>,
      ],
  ),
  [
    "applications",
    {
      ignoreDifferences: [
        {
          group: "*",
          kind: "*",
          jsonPointers: ["/spec/replicas", "/metadata/annotations/a~1b", "/a~0b"],
          managedFieldsManagers: ["kube-controller-manager"],
        },
      ],
    },
  ],
  ["applications", { ignoreDifferences: [{ group: "", kind: "Service", name: "web" }] }],
  [
    "applications",
    {
      labels: { "example.com/team": "a", plain: "" },
      syncPolicy: {
        retry: { limit: 5, backoff: { duration: "5s", factor: 2, maxDuration: "3m" } },
        managedNamespaceMetadata: { labels: { a: "b" } },
      },
    },
  ],
  ...[
    "nginx=registry.example:5000/nginx:1.27",
    "nginx:1.27",
    "nginx",
    "registry.example/a/b:v1",
    `nginx@sha256:${"a".repeat(64)}`,
    `nginx=other@sha256:${"0".repeat(64)}`,
    "a/*=b:c",
    "$ARGOCD_APP_NAME=nginx:1",
  ].map(
    (text) =>
      ["applications", { source: { ...source, kustomize: { images: [text] } } }] as [
        BadForm["collection"],
        Record<string, unknown>,
      ],
  ),
  ...[
    "a.b",
    "a.b[0].c",
    "ingress.annotations.kubernetes\\.io/ingress\\.class",
    "global-x",
    "a_b",
    "$ARGOCD_APP_NAME",
  ].map(
    (name) =>
      ["applications", { source: { ...source, helm: { parameters: [{ name, value: "x,y=z" }] } } }] as [
        BadForm["collection"],
        Record<string, unknown>,
      ],
  ),
  [
    "applications",
    {
      source: {
        ...source,
        helm: {
          values: "a: 1\nb: [c]\n",
          kubeVersion: "v1.31.2",
          apiVersions: ["v1", "networking.k8s.io/v1", "apps/v1/Deployment"],
        },
      },
    },
  ],
  ["applications", { source: { ...source, helm: { values: "" }, directory: undefined } }],
  [
    "applications",
    { source: { ...source, directory: { recurse: true, include: "{a,b}/*.yaml", exclude: "*-test.[jy]*" } } },
  ],
  [
    "applications",
    {
      source: {
        ...source,
        kustomize: {
          commonLabels: { app: "x" },
          patches: [
            {
              patch: "- op: replace\n  path: /spec/replicas\n  value: 2\n",
              target: { kind: "Deployment", labelSelector: "app=web,tier in (a, b),!old", annotationSelector: "a!=b" },
            },
            { patch: "apiVersion: v1\nkind: Service\nmetadata: {name: a}\n" },
            { path: "p.yaml" },
          ],
        },
      },
    },
  ],
  ...["0 22 * * 1-5", "*/15 * * * *", "0 0 1 JAN MON", "TZ=Europe/Berlin 0 1 * * *"].map(
    (schedule) =>
      [
        "appprojects",
        {
          syncWindows: [
            {
              kind: "deny",
              schedule,
              duration: "1h30m",
              applications: ["*-prod", "team-[ab]", "!x"],
              timeZone: "Europe/Berlin",
            },
          ],
        },
      ] as [BadForm["collection"], Record<string, unknown>],
  ),
  [
    "appprojects",
    {
      sourceRepos: ["*", "https://git.example/{team}/*", "!https://git.example/x"],
      sourceNamespaces: ["team-*", "/^a|b$/"],
      destinations: [
        { server: "https://[::1]:6443", namespace: "*" },
        { name: "in-cluster", namespace: "!kube-system" },
        { name: "*", namespace: "{a,b}" },
      ],
    },
  ],
  [
    "appprojects",
    {
      clusterResourceWhitelist: [
        { group: "*", kind: "*" },
        { group: "", kind: "Namespace" },
      ],
      namespaceResourceBlacklist: [
        { group: "networking.k8s.io", kind: "NetworkPolicy" },
        { group: "", kind: "Resource*" },
      ],
      orphanedResources: { warn: true, ignore: [{ kind: "ConfigMap", name: "kube-*" }] },
    },
  ],
  ...[
    "p, proj:team:dev, applications, sync, team/*, allow",
    "p, proj:team:dev, applications, *, team/*, deny",
    "p,proj:team:dev,applications,action/apps/Deployment/restart,team/web,allow",
    "p, proj:team:dev, logs, get, team/*, allow",
    "p, proj:team:dev, applications, delete/*/Pod/*, team/*, allow",
    "p, proj:team-0a1b2c:dev, exec, create, team-0a1b2c/*, allow",
  ].map(
    (text) =>
      ["appprojects", { roles: [{ name: "dev", policies: [text] }] }] as [
        BadForm["collection"],
        Record<string, unknown>,
      ],
  ),
  ...[
    "{{ .name }}",
    "{{ .path.basename | lower | trunc 40 }}",
    '{{ if eq .env "prod" }}a{{ else }}b{{ end }}',
    "{{- range $i, $x := .list }}{{ $x }}{{ end -}}",
    "{{ index .path.segments 1 }}",
    "{{`{{ .Values.x }}`}}",
    '{{ printf "%s-%s" .a .b | slugify 40 true }}',
    '{{ .metadata.labels.team | default "x" }}',
  ].map(
    (name) =>
      ["applicationsets", { template: { metadata: { name }, spec: template.spec } }] as [
        BadForm["collection"],
        Record<string, unknown>,
      ],
  ),
  [
    "applicationsets",
    { goTemplate: false, template: { ...template, metadata: { name: "{{name}}-{{path.basename}}" } } },
  ],
  ["applicationsets", { templatePatch: "{{- if .auto }}\nspec:\n  syncPolicy: {automated: {}}\n{{- end }}\n" }],
  [
    "applicationsets",
    {
      generators: [
        {
          matrix: {
            generators: [
              git({}),
              {
                clusters: {
                  selector: {
                    matchLabels: { env: "{{ .env }}" },
                    matchExpressions: [{ key: "a", operator: "Exists" }],
                  },
                },
              },
            ],
          },
        },
      ],
    },
  ],
  [
    "applicationsets",
    {
      generators: [
        {
          merge: {
            mergeKeys: ["name"],
            generators: [{ clusters: { values: { a: "b" } } }, { list: { elementsYaml: "- name: a\n" } }],
          },
        },
      ],
    },
  ],
  [
    "applicationsets",
    {
      generators: [
        {
          scmProvider: {
            github: { organization: "a", tokenRef: { secretName: "s", key: "k" }, allBranches: true },
            cloneProtocol: "https",
            filters: [{ repositoryMatch: "(?i)^team-", pathsExist: ["a"], labelMatch: "deploy-.*" }],
            requeueAfterSeconds: 60,
          },
        },
      ],
    },
  ],
  [
    "applicationsets",
    {
      generators: [
        {
          pullRequest: {
            gitlab: { project: "1", labels: ["a"], pullRequestState: "opened" },
            filters: [{ titleMatch: "\\[deploy\\]" }],
          },
        },
        { plugin: { configMapRef: { name: "x" }, input: { parameters: { free: { form: 1 } } } } },
      ],
    },
  ],
  [
    "applicationsets",
    {
      generators: [
        {
          git: {
            repoURL: "https://git.example/a",
            revision: "HEAD",
            pathParamPrefix: "p",
            files: [{ path: "**/config.{json}" }, { path: "x/*", exclude: true }],
          },
          selector: { matchLabels: { a: "b" } },
        },
      ],
    },
  ],
  [
    "applicationsets",
    {
      template: {
        metadata: {
          name: "{{ .name }}",
          labels: { "{{ .k }}": "{{ .v }}" },
          finalizers: ["resources-finalizer.argocd.argoproj.io"],
        },
        spec: {
          ...template.spec,
          sources: [
            {
              repoURL: "{{ .url }}",
              helm: { values: "a: {{ .b }}\n", parameters: [{ name: "{{ .p }}", value: "1" }] },
              kustomize: { images: ["{{ .image }}"] },
            },
          ],
          syncPolicy: { automated: { prune: true }, syncOptions: ["CreateNamespace={{ .ns }}"] },
        },
      },
    },
  ],
];
