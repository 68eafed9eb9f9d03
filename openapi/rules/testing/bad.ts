import { type BadForm, git, source, template } from "./bases.ts";

const app = (name: string, spec: object, pointer: string, detail: RegExp): BadForm => ({
  name,
  collection: "applications",
  spec: spec as BadForm["spec"],
  pointer,
  detail,
});
const from = (name: string, part: object, pointer: string, detail: RegExp) =>
  app(name, { source: { ...source, ...part } }, `/source${pointer}`, detail);
const option = (text: string, detail: RegExp) =>
  app(`sync option ${text}`, { syncPolicy: { syncOptions: [text] } }, "/syncPolicy/syncOptions/0", detail);
const options = (list: string[], at: number, detail: RegExp) =>
  app(`sync options ${list.join()}`, { syncPolicy: { syncOptions: list } }, `/syncPolicy/syncOptions/${at}`, detail);
const ignore = (name: string, rule: object, pointer: string, detail: RegExp) =>
  app(name, { ignoreDifferences: [{ kind: "Deployment", ...rule }] }, `/ignoreDifferences/0${pointer}`, detail);
const set = (name: string, spec: object, pointer: string, detail: RegExp): BadForm => ({
  ...app(name, spec, pointer, detail),
  collection: "applicationsets",
});
const inTemplate = (name: string, spec: object, pointer: string, detail: RegExp) =>
  set(name, { template: { ...template, spec: { ...template.spec, ...spec } } }, `/template/spec${pointer}`, detail);
const generator = (name: string, one: object, pointer: string, detail: RegExp) =>
  set(name, { generators: [one] }, `/generators/0${pointer}`, detail);
const project = (name: string, spec: object, pointer: string, detail: RegExp): BadForm => ({
  ...app(name, spec, pointer, detail),
  collection: "appprojects",
});
const window = (name: string, change: object, pointer: string, detail: RegExp) =>
  project(
    name,
    { syncWindows: [{ kind: "allow", schedule: "0 22 * * 1-5", duration: "1h", applications: ["*"], ...change }] },
    `/syncWindows/0${pointer}`,
    detail,
  );
const policy = (text: string, detail: RegExp) =>
  project(`policy ${text}`, { roles: [{ name: "dev", policies: [text] }] }, "/roles/0/policies/0", detail);

const shell = (id: string, more: object = {}) => ({
  id,
  task: { kind: "shell.run", params: { script: "true" } },
  ...more,
});
const pipeline = (name: string, spec: object, pointer: string, detail: RegExp): BadForm => ({
  ...app(name, spec, pointer, detail),
  collection: "pipelines",
});

export const BAD: readonly BadForm[] = [
  option("CreateNamespaces=true", /no sync option `CreateNamespaces`. Did you mean `CreateNamespace=true`\?/),
  option("createNamespace=true", /Did you mean `CreateNamespace=true`\?/),
  option("ServerSideAply=true", /Did you mean `ServerSideApply=true`\?/),
  option("PruneLast=yes", /not a value of `PruneLast`. Use one of `PruneLast=true`, `PruneLast=false`/),
  option("PrunePropagationPolicy=backround", /Use one of `PrunePropagationPolicy=foreground`/),
  option("Prune=confirmed", /`Prune=confirm`/),
  option("Nonsense=true", /Use one of `ApplyOutOfSyncOnly`/),
  option("ServerSideDiff=true", /compare option/),
  option("constructor=true", /no sync option `constructor`/),
  options(["Prune=false", "Prune=true"], 1, /`Prune=true` contradicts `Prune=false`: keep one/),
  options(
    ["Replace=true", "CreateNamespace=true", "ServerSideApply=true"],
    2,
    /contradicts `Replace=true`: .*leave out one/,
  ),
  options(["ServerSideApply=true", "Force=true"], 1, /contradicts `ServerSideApply=true`/),
  pipeline(
    "a need that is not a step",
    { steps: [shell("build"), shell("ship", { needs: ["biuld"] })] },
    "/steps/1/needs/0",
    /Did you mean `build`\?/,
  ),
  pipeline(
    "needs in a circle",
    { steps: [shell("a", { needs: ["b"] }), shell("b", { needs: ["a"] })] },
    "/steps/0/needs",
    /wait for each other: a → b → a/,
  ),
  pipeline(
    "a condition that cannot be read",
    { steps: [shell("a", { condition: "yes" })] },
    "/steps/0/condition",
    /texts stand in quotes/,
  ),
  pipeline(
    "a value of an input that is none",
    {
      inputs: { tag: {} },
      steps: [{ id: "a", task: { kind: "shell.run", params: { script: "true", env: { T: "${inputs.tga}" } } } }],
    },
    "/steps/0/task/params/env/T",
    /no input `tga`. Did you mean `tag`\?/,
  ),
  pipeline(
    "a misspelt parameter",
    { steps: [{ id: "a", task: { kind: "shell.run", params: { scrpt: "true", script: "true" } } }] },
    "/steps/0/task/params/scrpt",
    /no `scrpt` of shell.run. Did you mean `script`\?/,
  ),
  pipeline(
    "a missing parameter",
    { steps: [{ id: "a", task: { kind: "git.clone", params: {} } }] },
    "/steps/0/task/params/url",
    /git.clone needs `url`/,
  ),
  pipeline(
    "a parameter of another type",
    { steps: [{ id: "a", task: { kind: "shell.run", params: { script: "true", env: [] } } }] },
    "/steps/0/task/params/env",
    /`env` of shell.run must be an object/,
  ),
  pipeline(
    "parameters that do not go together",
    {
      steps: [
        {
          id: "a",
          task: { kind: "kubernetes.apply", params: { manifests: "a: 1", source: { git: { url: "https://h/r" } } } },
        },
      ],
    },
    "/steps/0/task/params/source",
    /Give only one of `manifests`, `source`/,
  ),
  pipeline(
    "a default that does not fit its pattern",
    { inputs: { tag: { pattern: "v[0-9]+", default: "latest" } }, steps: [shell("a")] },
    "/inputs/tag/default",
    /The default does not fit `pattern`/,
  ),
  pipeline(
    "a broken pattern",
    { inputs: { tag: { pattern: "[" } }, steps: [shell("a")] },
    "/inputs/tag/pattern",
    /regular expression/,
  ),
  project(
    "a backward range in a glob",
    { sourceNamespaces: ["team-[z-a]"] },
    "/sourceNamespaces/0",
    /the range `z-a` runs backwards/,
  ),
  window("a time zone in small letters", { timeZone: "europe/berlin" }, "/timeZone", /Did you mean `Europe\/Berlin`\?/),
  window("a time zone as an offset", { timeZone: "+02:00" }, "/timeZone", /no time zone "\+02:00"/),
  window("a misspelt time zone", { timeZone: "Europe/Berln" }, "/timeZone", /Did you mean `Europe\/Berlin`\?/),
  window(
    "a schedule with a zone in small letters",
    { schedule: "TZ=europe/berlin 0 22 * * *" },
    "/schedule",
    /Did you mean `Europe\/Berlin`\?/,
  ),
  {
    ...app(
      "a proxy before the agent's own cluster",
      { server: "https://kubernetes.default.svc", proxyUrl: "http://p:1" },
      "/proxyUrl",
      /own cluster/,
    ),
    collection: "clusters",
  },
  ignore(
    "a misspelt jq function",
    { jqPathExpressions: ['.spec.x[] | selct(.name == "a")'] },
    "/jqPathExpressions/0",
    /no function `selct`. Did you mean `select`\?/,
  ),
  ignore(
    "a jq path without its dot",
    { jqPathExpressions: ["spec.replicas"] },
    "/jqPathExpressions/0",
    /begins with a dot: `\.spec`/,
  ),
  ignore(
    "a jq expression that ends early",
    { jqPathExpressions: [".spec["] },
    "/jqPathExpressions/0",
    /`\[` is not closed.*for example `\.spec/,
  ),
  ignore(
    "a jq bracket that closes nothing",
    { jqPathExpressions: [".spec)"] },
    "/jqPathExpressions/0",
    /closes nothing/,
  ),
  ignore("a jq text that is not closed", { jqPathExpressions: ['.spec."a'] }, "/jqPathExpressions/0", /not closed/),
  ignore(
    "a jq operator without an operand",
    { jqPathExpressions: [".spec | "] },
    "/jqPathExpressions/0",
    /cannot be read/,
  ),
  ignore("an empty jq expression", { jqPathExpressions: [" "] }, "/jqPathExpressions/0", /must not be empty/),
  ignore(
    "a JSON pointer without a slash",
    { jsonPointers: ["spec/replicas"] },
    "/jsonPointers/0",
    /begin with `\/`, for example `\/spec\/replicas`/,
  ),
  ignore(
    "a JSON pointer with a lone tilde",
    { jsonPointers: ["/metadata/a~b"] },
    "/jsonPointers/0",
    /write `~` as `~0`/,
  ),
  ignore("a group with a version", { group: "apps/v1" }, "/group", /no version: write `apps`/),
  ignore("the core group by a name", { group: "core" }, "/group", /the empty text/),
  ignore("a kind with its group", { kind: "apps/Deployment" }, "/kind", /`group` is `apps` and `kind` is `Deployment`/),
  ignore(
    "a manager that is blank",
    { managedFieldsManagers: [" "] },
    "/managedFieldsManagers/0",
    /not the name of a field manager/,
  ),
  app("a label that the API server refuses", { labels: { "a b": "x" } }, "/labels/a b", /not a label key/),
  app("a label value that the API server refuses", { labels: { team: "-x" } }, "/labels/team", /not a label value/),
  from(
    "an image with a scheme",
    { kustomize: { images: ["nginx=https://registry.example/nginx"] } },
    "/kustomize/images/0",
    /no `https:\/\/` in front/,
  ),
  from("an image with a blank", { kustomize: { images: ["nginx = other"] } }, "/kustomize/images/0", /blank/),
  from(
    "an image without a tag behind its colon",
    { kustomize: { images: ["nginx:"] } },
    "/kustomize/images/0",
    /nothing follows/,
  ),
  from("an image with a short digest", { kustomize: { images: ["nginx@sha256:12"] } }, "/kustomize/images/0", /digest/),
  from(
    "an image with two equal signs",
    { kustomize: { images: ["a=b=c"] } },
    "/kustomize/images/0",
    /more than one `=`/,
  ),
  from(
    "a parameter with its value",
    { helm: { parameters: [{ name: "a=b", value: "c" }] } },
    "/helm/parameters/0/name",
    /give the value in `value`/,
  ),
  from(
    "a parameter with an empty part",
    { helm: { parameters: [{ name: "a..b", value: "c" }] } },
    "/helm/parameters/0/name",
    /is empty/,
  ),
  from(
    "a parameter with an open bracket",
    { helm: { parameters: [{ name: "a[0", value: "c" }] } },
    "/helm/parameters/0/name",
    /hold a number/,
  ),
  from(
    "a file parameter with a comma",
    { helm: { fileParameters: [{ name: "a,b", path: "x" }] } },
    "/helm/fileParameters/0/name",
    /separates parameters/,
  ),
  from("a Kubernetes version that is none", { helm: { kubeVersion: "latest" } }, "/helm/kubeVersion", /write `1\.31`/),
  from(
    "an API version that is none",
    { helm: { apiVersions: ["networking.k8s.io v1"] } },
    "/helm/apiVersions/0",
    /networking\.k8s\.io\/v1/,
  ),
  from(
    "a glob that is not closed",
    { directory: { include: "{a.yaml,b.yaml" } },
    "/directory/include",
    /`\{` is not closed/,
  ),
  from(
    "a selector that cannot be read",
    { kustomize: { patches: [{ patch: "a: 1", target: { labelSelector: "a in b" } }] } },
    "/kustomize/patches/0/target/labelSelector",
    /app=web,tier in/,
  ),
  from("values that are no YAML", { helm: { values: "a: [" } }, "/helm/values", /YAML cannot be read.*line 1/),
  from("values that are a list", { helm: { values: "- a" } }, "/helm/values", /must be a mapping/),
  from(
    "a patch that is not YAML",
    { kustomize: { patches: [{ patch: "a: {" }] } },
    "/kustomize/patches/0/patch",
    /YAML cannot be read/,
  ),
  from(
    "a patch that is a word",
    { kustomize: { patches: [{ patch: "replicas" }] } },
    "/kustomize/patches/0/patch",
    /a YAML mapping, or a list/,
  ),
  from(
    "a patch with an unknown operation",
    { kustomize: { patches: [{ patch: "[{op: put, path: /a}]" }] } },
    "/kustomize/patches/0/patch",
    /Operation 1/,
  ),
  window(
    "a pattern of a window that is not closed",
    { applications: ["["] },
    "/applications/0",
    /`\[` is not closed.*for example `team-\*`/,
  ),
  window("a cluster pattern of a window", { clusters: ["prod-[a"] }, "/clusters/0", /`\[` is not closed/),
  window(
    "a schedule with six fields",
    { schedule: "* * * * * *" },
    "/schedule",
    /five fields, for example `0 22 \* \* 1-5`/,
  ),
  window("a schedule out of range", { schedule: "61 * * * *" }, "/schedule", /cannot be read/),
  window("a window of no length", { duration: "0s" }, "/duration", /write `30m` or `1h30m`/),
  window(
    "a time zone that there is not",
    { timeZone: "Europe/Berln" },
    "/timeZone",
    /There is no time zone "Europe\/Berln"/,
  ),
  project(
    "a destination's pattern",
    { destinations: [{ server: "https://[", namespace: "*" }] },
    "/destinations/0/server",
    /`\[` is not closed/,
  ),
  project(
    "a namespace pattern that denies",
    { destinations: [{ name: "*", namespace: "!{a" }] },
    "/destinations/0/namespace",
    /`\{` is not closed/,
  ),
  project(
    "a repository pattern",
    { sourceRepos: ["https://git.example/[team"] },
    "/sourceRepos/0",
    /`\[` is not closed/,
  ),
  project("a namespace of applications", { sourceNamespaces: ["team-["] }, "/sourceNamespaces/0", /`\[` is not closed/),
  project(
    "a kind with its group and version",
    { namespaceResourceBlacklist: [{ group: "", kind: "apps/v1/Deployment" }] },
    "/namespaceResourceBlacklist/0/kind",
    /`group` is `apps`/,
  ),
  project(
    "a group with a version in a list",
    { clusterResourceWhitelist: [{ group: "rbac.authorization.k8s.io/v1", kind: "*" }] },
    "/clusterResourceWhitelist/0/group",
    /no version/,
  ),
  policy(
    "p, proj:team:dev, application, sync, team/*, allow",
    /no resource "application". Did you mean `applications`\?/,
  ),
  policy("p, proj:team:dev, applications, synch, team/*, allow", /no action "synch". Did you mean `sync`\?/),
  policy("p, proj:team:dev, applications, sync, team/*, permit", /`allow` or `deny`/),
  policy("p, proj:team:ops, applications, sync, team/*, allow", /in the role `dev` and names the role "ops"/),
  policy("p, role:dev, applications, sync, team/*, allow", /proj:PROJECT:ROLE/),
  policy("p, proj:team:dev, applications, sync, other/*, allow", /the fifth part is `team\/`/),
  policy("p, proj:team:dev, applications, sync, team/*", /5 parts/),
  policy("g, proj:team:dev, applications, sync, team/*, allow", /begins with `p`/),
  inTemplate(
    "a misspelt field of a template",
    { projct: "x" },
    "/projct",
    /no field `projct` here. Did you mean `project`\?/,
  ),
  inTemplate(
    "a field in the contract's spelling",
    { source: { repoUrl: "https://git.example/a" } },
    "/source/repoUrl",
    /Did you mean `repoURL`\?/,
  ),
  inTemplate(
    "a misspelt field deep in a template",
    { syncPolicy: { automated: { selfheal: true } } },
    "/syncPolicy/automated/selfheal",
    /Did you mean `selfHeal`\?/,
  ),
  inTemplate(
    "a sync option of a template",
    { syncPolicy: { syncOptions: ["CreateNamespaces=true"] } },
    "/syncPolicy/syncOptions/0",
    /Did you mean `CreateNamespace=true`\?/,
  ),
  inTemplate(
    "a template that is not closed",
    { destination: { name: "{{ .name", namespace: "x" } },
    "/destination/name",
    /cannot be read: unclosed action/,
  ),
  inTemplate(
    "a function that there is not",
    { destination: { name: "{{ .name | lowr }}" } },
    "/destination/name",
    /no template function `lowr`. Did you mean `lower`\?/,
  ),
  inTemplate(
    "a parameter without its dot",
    { destination: { name: "{{ clustername }}" } },
    "/destination/name",
    /A parameter has a dot in front: `\{\{ \.clustername \}\}`/,
  ),
  inTemplate(
    "a block that has no end",
    { destination: { name: "{{ if .x }}a" } },
    "/destination/name",
    /unexpected EOF/,
  ),
  inTemplate(
    "a jq expression of a template",
    { ignoreDifferences: [{ kind: "A", jqPathExpressions: [".a["] }] },
    "/ignoreDifferences/0/jqPathExpressions/0",
    /not closed/,
  ),
  set(
    "the older templates, not closed",
    { goTemplate: false, template: { ...template, metadata: { name: "{{name" } } },
    "/template/metadata/name",
    /is not closed/,
  ),
  set(
    "a template's own field",
    { template: { ...template, metadata: { name: "{{ .name }}", label: {} } } },
    "/template/metadata/label",
    /Did you mean `labels`\?/,
  ),
  set(
    "a patch with a function that there is not",
    { templatePatch: "spec:\n  project: {{ .name | uper }}" },
    "/templatePatch",
    /Did you mean `upper`\?/,
  ),
  set("a patch that is not YAML", { templatePatch: "spec: {" }, "/templatePatch", /YAML cannot be read/),
  set(
    "values of a template that are no YAML",
    { template: { ...template, spec: { ...template.spec, source: { repoURL: "x", helm: { values: "a: [" } } } } },
    "/template/spec/source/helm/values",
    /YAML cannot be read/,
  ),
  set(
    "a pointer of what may differ",
    { ignoreApplicationDifferences: [{ jsonPointers: ["spec"] }] },
    "/ignoreApplicationDifferences/0/jsonPointers/0",
    /begin with `\/`/,
  ),
  generator(
    "a generator that there is not",
    { lists: { elements: [] } },
    "/lists",
    /no generator `lists`. Did you mean `list`\?/,
  ),
  generator(
    "a field of a generator in another spelling",
    git({ repoUrl: "x" }),
    "/git/repoUrl",
    /Did you mean `repoURL`\?/,
  ),
  generator(
    "a field of a path that there is not",
    git({ files: [{ path: "a.yaml", excluded: true }] }),
    "/git/files/0/excluded",
    /Did you mean `exclude`\?/,
  ),
  generator(
    "a path's pattern",
    git({ directories: [{ path: "apps/[" }] }),
    "/git/directories/0/path",
    /`\[` is not closed/,
  ),
  generator(
    "a host's field that there is not",
    { pullRequest: { github: { owner: "a", repository: "b" } } },
    "/pullRequest/github/repository",
    /There is no field `repository`/,
  ),
  generator(
    "a regular expression",
    { scmProvider: { github: { organization: "a" }, filters: [{ repositoryMatch: "(" }] } },
    "/scmProvider/filters/0/repositoryMatch",
    /regular expression "\(" cannot be read/,
  ),
  generator(
    "a look-ahead, which Go has not",
    { pullRequest: { github: { owner: "a", repo: "b" }, filters: [{ branchMatch: "^(?!x)" }] } },
    "/pullRequest/filters/0/branchMatch",
    /looks ahead or behind/,
  ),
  generator(
    "an operator of a selector",
    { clusters: { selector: { matchExpressions: [{ key: "env", operator: "in", values: ["a"] }] } } },
    "/clusters/selector/matchExpressions/0/operator",
    /Did you mean `In`\?/,
  ),
  generator(
    "an operator without values",
    { clusters: { selector: { matchExpressions: [{ key: "env", operator: "In" }] } } },
    "/clusters/selector/matchExpressions/0/values",
    /needs `values`/,
  ),
  generator(
    "a selector's field that there is not",
    { clusters: { selector: { matchLabel: { a: "b" } } } },
    "/clusters/selector/matchLabel",
    /Did you mean `matchLabels`\?/,
  ),
  generator(
    "a value that is a broken template",
    { clusters: { values: { a: "{{ .name" } } },
    "/clusters/values/a",
    /unclosed action/,
  ),
  generator(
    "a field of a generator within a matrix",
    { matrix: { generators: [{ clusters: {} }, git({ revison: "main" })] } },
    "/matrix/generators/1/git/revison",
    /Did you mean `revision`\?/,
  ),
  generator(
    "elements that are no YAML list",
    { list: { elementsYaml: "a: 1" } },
    "/list/elementsYaml",
    /must be a list/,
  ),
];
