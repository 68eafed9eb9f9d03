import { again, done, stop } from "../../base/outcome.ts";
import { generate } from "./generate.ts";
import { matchPath } from "./parameters/path.ts";
import type { ApplicationSetSpec, Generator } from "./types.ts";
import type { Cluster, World } from "./world/world.ts";

const none = async () => stop("Nothing", "not here");
const FILES: Record<string, string> = {
  "env/dev/config.json": '{"cluster":{"name":"dev"},"n":3}',
  "env/prod/config.yaml": "- cluster: {name: p1}\n- cluster: {name: p2}\n",
  "env/empty.yaml": "",
};
const WORLD: World = {
  clusters: (): Cluster[] => [
    {
      name: "East_1",
      server: "https://1.1.1.1",
      project: "team",
      labels: { env: "prod", region: "e" },
      annotations: { a: "x" },
    },
    { name: "west", server: "https://2.2.2.2", labels: { env: "test" } },
  ],
  directories: async ({ repoURL }) =>
    repoURL === "broken"
      ? again("Unreachable", "no answer")
      : done(["apps", "apps/a", "apps/b", "apps/b/deep", "libs/Some_Lib"]),
  files: async (_, { include, exclude }) =>
    done(
      new Map(
        Object.entries(FILES).filter(
          ([path]) => include.some((one) => path.startsWith(one)) && !exclude.includes(path),
        ),
      ),
    ),
  secret: none,
  githubApp: none,
  configMap: none,
  objects: none,
};

const spec = (generators: Generator[], name: string, more: Partial<ApplicationSetSpec> = {}): ApplicationSetSpec => ({
  goTemplate: true,
  goTemplateOptions: ["missingkey=error"],
  generators,
  template: { metadata: { name }, spec: { project: "p" } },
  ...more,
});
const fast = { goTemplate: false, goTemplateOptions: [] };
const list = (...elements: object[]): Generator => ({ list: { elements } });
const dirs = (directories: object[], more = {}): Generator => ({
  git: { repoURL: "r", revision: "main", directories, ...more },
});

async function names(asked: ApplicationSetSpec): Promise<string[] | string> {
  const made = await generate("set", asked, WORLD);
  return made.kind === "done" ? made.value.map(({ metadata }) => metadata.name) : made.message;
}

test.each<[string, ApplicationSetSpec, string[]]>([
  [
    "elements in YAML",
    spec(
      [{ list: { elements: [{ a: "1" }], elementsYaml: "- {a: one, a: two}\n- {a: 3}\n---\n- not: read" } }],
      "x-{{.a}}",
    ),
    ["x-1", "x-two", "x-3"],
  ],
  [
    "values of elements without Go's syntax",
    spec([list({ a: "1", values: { b: "v" } })], "{{a}}-{{values.b}}", fast),
    ["1-v"],
  ],
  ["all clusters, our own too", spec([{ clusters: {} }], "{{.nameNormalized}}"), ["east-1", "west", "in-cluster"]],
  [
    "clusters by expression",
    spec(
      [{ clusters: { selector: { matchExpressions: [{ key: "env", operator: "NotIn", values: ["prod"] }] } } }],
      "{{.name}}",
    ),
    ["west"],
  ],
  [
    "values of clusters, without Go's syntax",
    spec(
      [
        {
          clusters: {
            selector: { matchLabels: { env: "prod" } },
            values: { v: "{{metadata.labels.region}}-{{metadata.annotations.a}}" },
          },
        },
      ],
      "{{values.v}}",
      fast,
    ),
    ["e-x"],
  ],
  [
    "a flat list of clusters",
    spec([{ clusters: { flatList: true } }], "n{{ len .clusters }}-{{ (index .clusters 0).name }}"),
    ["n3-East_1"],
  ],
  ["folders, but not deeper ones", spec([dirs([{ path: "apps/*" }])], "{{.path.basename}}"), ["a", "b"]],
  [
    "no folder that is excluded anywhere",
    spec([dirs([{ path: "apps/*" }, { path: "*/b", exclude: true }])], "{{.path.basename}}"),
    ["a"],
  ],
  [
    "names of folders as names of objects",
    spec([dirs([{ path: "libs/*" }])], "{{.path.basenameNormalized}}"),
    ["some-lib"],
  ],
  [
    "a prefix for parameters of a path",
    spec([dirs([{ path: "apps/*" }], { pathParamPrefix: "my" })], "{{.my.path.basename}}"),
    ["a", "b"],
  ],
  [
    "parts of a path without Go's syntax",
    spec([dirs([{ path: "apps/*" }])], "{{path[0]}}-{{path[1]}}", fast),
    ["apps-a", "apps-b"],
  ],
  [
    "what files say, one or many",
    spec(
      [{ git: { repoURL: "r", files: [{ path: "env/dev" }, { path: "env/prod" }] } }],
      "{{.cluster.name}}-{{.path.filename}}",
    ),
    ["dev-config.json", "p1-config.yaml", "p2-config.yaml"],
  ],
  [
    "what files say without Go's syntax",
    spec([{ git: { repoURL: "r", files: [{ path: "env/dev" }] } }], "{{cluster.name}}-{{n}}-{{path.basename}}", fast),
    ["dev-3-dev"],
  ],
  [
    "files but not those excluded",
    spec(
      [
        {
          git: {
            repoURL: "r",
            files: [{ path: "env/prod" }, { path: "env/empty" }, { path: "env/empty.yaml", exclude: true }],
          },
        },
      ],
      "{{.cluster.name}}",
    ),
    ["p1", "p2"],
  ],
  [
    "a second generator that uses the first",
    spec(
      [
        {
          matrix: {
            generators: [
              list({ env: "prod" }, { env: "test" }),
              { clusters: { selector: { matchLabels: { env: "{{.env}}" } } } },
            ],
          },
        },
      ],
      "{{.env}}-{{.nameNormalized}}",
    ),
    ["prod-east-1", "test-west"],
  ],
  [
    "the first of two values for a key of a matrix",
    spec([{ matrix: { generators: [list({ a: "1" }), list({ a: "2" })] } }], "m-{{.a}}"),
    ["m-1"],
  ],
  [
    "a matrix of a merge",
    spec(
      [
        {
          matrix: {
            generators: [
              { merge: { mergeKeys: ["a"], generators: [list({ a: "1", v: "x" }), list({ a: "1", v: "y" })] } },
              list({ b: "2" }),
            ],
          },
        },
      ],
      "{{.v}}{{.b}}",
    ),
    ["y2"],
  ],
  [
    "a merge without Go's syntax, in which a value that is no text stays unfilled",
    spec(
      [
        {
          merge: {
            mergeKeys: ["a"],
            generators: [{ list: { elements: [], elementsYaml: "[{a: x, on: true}]" } }, list({ a: "x", b: "y" })],
          },
        },
      ],
      "{{a}}-{{b}}-{{on}}",
      fast,
    ),
    ["x-y-{{on}}"],
  ],
  [
    "only what fits a selector",
    spec(
      [
        {
          ...dirs([{ path: "apps/*" }]),
          selector: { matchExpressions: [{ key: "path.basename", operator: "In", values: ["b"] }] },
        },
      ],
      "{{.path.basename}}",
    ),
    ["b"],
  ],
  [
    "a generator's own template",
    spec(
      [{ list: { elements: [{ a: "1" }], template: { metadata: { name: "own-{{.a}}" } } } }, list({ a: "2" })],
      "{{.a}}",
    ),
    ["own-1", "2"],
  ],
])("a set gives %s", async (_, asked, want) => {
  expect(await names(asked)).toEqual(want);
});

test.each<[string, ApplicationSetSpec, RegExp]>([
  ["a number without Go's syntax", spec([list({ a: 1 })], "x", fast), /error parsing value as string: a/],
  ["a git generator without paths", spec([{ git: { repoURL: "r" } }], "x"), /neither directories nor files/],
  [
    "a repository that does not answer",
    spec([{ git: { repoURL: "broken", directories: [{ path: "*" }] } }], "x"),
    /no answer/,
  ],
  ["one generator in a matrix", spec([{ matrix: { generators: [list({})] } }], "x"), /less than two generators/],
  [
    "two kinds in a child",
    spec([{ matrix: { generators: [{ ...list({}), clusters: {} }, list({})] } }], "x"),
    /more than one generator in a child/,
  ],
  [
    "a matrix in a matrix in a matrix",
    spec(
      [
        {
          matrix: {
            generators: [
              { matrix: { generators: [{ matrix: { generators: [list({}), list({})] } }, list({})] } },
              list({}),
            ],
          },
        },
      ],
      "x",
    ),
    /child generator generated no parameters/,
  ],
  ["a merge without keys", spec([{ merge: { generators: [list({}), list({})] } }], "x"), /no merge keys/],
  [
    "different values for a key without Go's syntax",
    spec([{ matrix: { generators: [list({ a: "1" }), list({ a: "2" })] } }], "x", fast),
    /found duplicate key a with different value/,
  ],
  [
    "values of clusters merged with those of a list",
    spec(
      [
        {
          merge: {
            mergeKeys: ["name"],
            generators: [{ clusters: { values: { k: "v" } } }, list({ name: "west", values: { k: "w" } })],
          },
        },
      ],
      "x",
    ),
    /values of both generators cannot be merged/,
  ],
  [
    "a selector that is none",
    spec(
      [{ ...list({ a: "1" }), selector: { matchExpressions: [{ key: "a", operator: "Like", values: ["x"] }] } }],
      "x",
    ),
    /not a valid label selector operator/,
  ],
  [
    "a host nobody knows",
    spec([{ scmProvider: { sourceforge: {} } }], "x"),
    /no SCM provider implementation configured: one of github, /,
  ],
  [
    "no host",
    spec([{ pullRequest: {} }], "x"),
    /no pull request provider configured: one of github, .*azuredevops is needed/,
  ],
  [
    "an identity in Azure to ask with",
    spec(
      [{ pullRequest: { azuredevops: { organization: "o", project: "p", repo: "r", useWorkloadIdentity: true } } }],
      "x",
    ),
    /the agent has no workload identity of Azure/,
  ],
  ["YAML that is none", spec([{ list: { elementsYaml: "a: [" } }], "x"), /ElementsYaml/],
  ["YAML that ends before its list does", spec([{ list: { elementsYaml: "[" } }], "x"), /ElementsYaml/],
])("a set with %s is refused by name", async (_, asked, why) => {
  expect(await names(asked)).toMatch(why);
});

test("templates are filled field by field, keys and nested values too, and nothing else changes", async () => {
  const template = {
    metadata: { name: "{{.a}}", labels: { "{{.a}}-key": "v" }, annotations: { n: "{{ .n }}" } },
    spec: {
      project: "p",
      source: { helm: { valuesObject: { list: ["{{.a}}", 1, true], deep: { "{{.a}}": "{{ .n | int | add 1 }}" } } } },
      revisionHistoryLimit: 3,
    },
  };
  const made = await generate("set", { ...spec([list({ a: "x", n: 4 })], ""), template }, WORLD);
  expect(made).toEqual(
    done([
      {
        metadata: {
          name: "x",
          labels: { "x-key": "v" },
          annotations: { n: "4" },
          finalizers: ["resources-finalizer.argocd.argoproj.io"],
        },
        spec: {
          project: "p",
          source: { helm: { valuesObject: { list: ["x", 1, true], deep: { x: "5" } } } },
          revisionHistoryLimit: 3,
        },
      },
    ]),
  );
});

test.each<[string, string, object]>([
  [
    "adds and replaces",
    "metadata: {labels: {b: '2'}}\nspec: {source: {path: {{.p}}}}",
    { labels: { a: "1", b: "2" }, source: { repoURL: "r", path: "q" } },
  ],
  ["takes away with null", "spec: {source: {path: null}}", { labels: { a: "1" }, source: { repoURL: "r" } }],
  ["replaces lists", "spec: {list: [z]}", { labels: { a: "1" }, source: { repoURL: "r", path: "o" }, list: ["z"] }],
  [
    "keeps the project",
    "spec: {project: other}",
    { labels: { a: "1" }, source: { repoURL: "r", path: "o" }, project: "p" },
  ],
  [
    "does nothing when it is empty",
    "{{ if eq .p 'nope' }}x{{ end }}".replaceAll("'", '"'),
    { labels: { a: "1" }, source: { repoURL: "r", path: "o" } },
  ],
  [
    "replaces all on demand",
    "spec: {source: {$patch: replace, chart: c}}",
    { labels: { a: "1" }, source: { chart: "c" } },
  ],
])("a patch of the template %s", async (_, templatePatch, want) => {
  const template = {
    metadata: { name: "n", labels: { a: "1" } },
    spec: { project: "p", source: { repoURL: "r", path: "o" }, list: ["a", "b"] },
  };
  const made = await generate("set", { ...spec([list({ p: "q" })], ""), template, templatePatch }, WORLD);
  if (made.kind !== "done") throw new Error(made.message);
  const [{ metadata, spec: application }] = made.value as [(typeof made.value)[0]];
  expect({ labels: metadata.labels, ...application }).toEqual({ project: "p", list: ["a", "b"], ...want });
});

test.each([
  ["a source that is a text", "spec: {source: abc}", "spec.source must be an object"],
  ["sources that are no list", "spec: {sources: {repoURL: r}}", "spec.sources must be a list"],
  [
    "a flag that is a text",
    'spec: {syncPolicy: {automated: {prune: "true"}}}',
    "spec.syncPolicy.automated.prune must be true or false",
  ],
  // YAML's own words for true.
  [
    "an annotation that is not text",
    "metadata: {annotations: {a: yes}}",
    "metadata.annotations must be an object of texts",
  ],
  [
    "a parameter of Helm that is a number",
    "spec: {source: {helm: {parameters: [{name: a, value: 1}]}}}",
    "parameters[0].value must be a text",
  ],
  [
    "a version of Kubernetes that is a number",
    "spec: {source: {helm: {kubeVersion: 1.3}}}",
    "helm.kubeVersion must be a text",
  ],
])("a patch makes no application with %s", async (_, templatePatch, want) => {
  expect(await names(spec([list({ p: "q" })], "n", { templatePatch }))).toContain(want);
});

test("finalizers are those of the template and of its patch, and none where resources are preserved", async () => {
  const finalizersOf = async (more: Partial<ApplicationSetSpec>) => {
    const made = await generate("set", spec([list({ a: "1" })], "n", more), WORLD);
    return made.kind === "done" ? made.value[0]!.metadata.finalizers : made.message;
  };
  const standard = "resources-finalizer.argocd.argoproj.io";
  expect(await finalizersOf({})).toEqual([standard]);
  expect(await finalizersOf({ syncPolicy: { preserveResourcesOnDeletion: true } })).toBeUndefined();
  expect(await finalizersOf({ templatePatch: "metadata: {finalizers: [mine]}" })).toEqual([standard, "mine"]);
});

test.each([
  ["apps/*", "apps/a", true],
  ["apps/*", "apps/a/b", false],
  ["apps/**", "apps/a/b", false],
  ["apps/**", "apps/a", true],
  ["*/a", "apps/a", true],
  ["apps/[ab]", "apps/b", true],
  ["apps/[^ab]", "apps/b", false],
  ["apps/{a,b}", "apps/a", false],
  ["apps/a?", "apps/ab", true],
  ["*", "apps", true],
])("path %s and folder %s: %s", (pattern, path, want) => {
  expect(matchPath(pattern, path)).toBe(want);
});

test.each([
  ["named for all applications", "p", "p"],
  ["left to parameters", "{{ .path.basename }}", undefined],
])("a repository is looked at as the project does that is %s", async (_, project, want) => {
  const asked: (string | undefined)[] = [];
  const world: World = { ...WORLD, directories: async (at) => (asked.push(at.project), done(["apps/a"])) };
  const set = spec([dirs([{ path: "apps/*" }])], "x", { template: { metadata: { name: "x" }, spec: { project } } });
  expect((await generate("set", set, world)).kind).toBe("done");
  expect(asked).toEqual([want]);
});
