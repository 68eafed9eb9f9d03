import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { type Bench, chart, configMap, startBench } from "./testing.ts";
import type { RenderRequest, Source } from "./types.ts";

let bench: Bench;
beforeAll(async () => {
  bench = await startBench({ allowLocal: true });
});
afterAll(() => bench.stop());

const render = async (request: RenderRequest) => {
  const got = await bench.service.render(request);
  if (got.kind !== "done") throw new Error(`${got.reason}: ${got.message}`);
  return got.value;
};
const dataOf = async (request: RenderRequest) => (await render(request)).objects!.map((object) => object.data);

describe("several sources", () => {
  let charts: string;
  let values: string;
  const asked = (...sources: [string, Partial<Source>][]): RenderRequest => ({
    ...bench.request(charts),
    sources: sources.map(([name, source]) => bench.source(name, { path: undefined, ...source })),
  });
  beforeAll(async () => {
    charts = await bench.repository({ ...chart("c/"), "plain/a.yaml": configMap("a") });
    values = await bench.repository({
      "env/prod.yaml": "v: prod\n",
      "env/z/late.yaml": "v: late\n",
      "files/text": "text of a file",
      out: { link: "/etc" },
    });
  });
  test("one refers to the files of another, which gives no objects itself", async () => {
    const helm = { valueFiles: ["$values/env/prod.yaml"], fileParameters: [{ name: "w", path: "$values/files/text" }] };
    const got = await render(asked([charts, { path: "c", helm }], [values, { ref: "values" }]));
    expect(got.objects).toMatchObject([{ data: { v: "prod", w: "text of a file" } }]);
    expect(got.revisions).toHaveLength(2);
    expect(got).toMatchObject({ revision: got.revisions[0], sourceTypes: ["Helm", ""] });
  });
  test("globs of another's files", async () => {
    const helm = { valueFiles: ["$values/env/**/*.yaml"] };
    expect(await dataOf(asked([values, { ref: "values" }], [charts, { path: "c", helm }]))).toMatchObject([
      { v: "late" },
    ]);
  });
  test("objects of all come in order, and one key stands for all", async () => {
    const sources: [string, Partial<Source>][] = [
      [charts, { path: "plain" }],
      [charts, { path: "c" }],
    ];
    const got = await render(asked(...sources));
    expect(got.objects!.map((o) => o.metadata.name)).toEqual(["a", "app-c"]);
    expect(got.sourceTypes).toEqual(["Directory", "Helm"]);
    expect((await render({ ...asked(...sources), known: got.key })).objects).toBeUndefined();
    await bench.git.commit(charts, { "plain/a.yaml": configMap("b") }, "change");
    expect((await render({ ...asked(...sources), known: got.key })).objects).toHaveLength(2);
  });
  test("a commit to the values changes the key; one beside them does not", async () => {
    const sources: [string, Partial<Source>][] = [
      [charts, { path: "c", helm: { valueFiles: ["$values/env/prod.yaml"] } }],
      [values, { ref: "values" }],
    ];
    const first = await render(asked(...sources));
    await bench.git.commit(values, { other: "x" }, "beside");
    const beside = await render(asked(...sources));
    await bench.git.commit(values, { "env/prod.yaml": "v: prod2\n" }, "values");
    const changed = await render(asked(...sources));
    expect([beside.key === first.key, changed.key === first.key]).toEqual([true, false]);
    expect(changed.objects).toMatchObject([{ data: { v: "prod2" } }]);
  });
  test.each<[string, () => [string, Partial<Source>][], RegExp]>([
    ["no source", () => [], /^SourcesInvalid/],
    ["only refs", () => [[values, { ref: "values" }]], /^SourcesInvalid.*none gives objects/],
    ["a ref with a chart", () => [[values, { ref: "values", chart: "x" }]], /^SourcesInvalid.*cannot have a ref/],
    [
      "two of the same ref",
      () => [
        [values, { ref: "values" }],
        [values, { ref: "values" }],
      ],
      /^SourcesInvalid.*two sources/,
    ],
    [
      "a ref nobody has",
      () => [[charts, { path: "c", helm: { valueFiles: ["$nope/a.yaml"] } }]],
      /^SourcesInvalid.*no source/,
    ],
    [
      "a ref that leads out",
      () => [
        [charts, { path: "c", helm: { valueFiles: ["$values/../../etc/passwd"] } }],
        [values, { ref: "values" }],
      ],
      /^PathEscapesRepository/,
    ],
    [
      "a link out through a ref",
      () => [
        [charts, { path: "c", helm: { valueFiles: ["$values/out/passwd"] } }],
        [values, { ref: "values" }],
      ],
      /^PathEscapesRepository/,
    ],
    [
      "a ref that is a path",
      () => [
        [charts, { path: "c" }],
        [values, { ref: "../x" }],
      ],
      /^SourcesInvalid.*letters/,
    ],
    ["two kinds of settings", () => [[charts, { path: "c", helm: {}, kustomize: {} }]], /^SourcesInvalid.*multiple/],
    [
      "settings of a wrong type",
      () => [[charts, { path: "c", helm: { valueFiles: "x" as unknown as string[] } }]],
      /^ManifestInvalid.*valueFiles must be a list/,
    ],
  ])("refused: %s", async (_, sources, want) => {
    expect(await bench.names(asked(...sources()))).toMatch(want);
  });
});

describe("Jsonnet", () => {
  const files = {
    "app/main.jsonnet":
      "local lib = import 'lib/x.libsonnet'; local own = import 'own.libsonnet';\nfunction(tla='t', n=0) [lib.cm(std.extVar('name')) + {data: {tla: tla, n: std.toString(n), own: own, text: importstr 'text.txt'}}]",
    "app/own.libsonnet": "'own'",
    "app/text.txt": "text",
    "vendor/lib/x.libsonnet": "{cm(name):: {apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: name}}}",
    "unused/x.libsonnet": "1",
  };
  const jsonnet = {
    extVars: [{ name: "name", value: "$ARGOCD_APP_NAME-x" }],
    tlas: [
      { name: "tla", value: "a=b, c" },
      { name: "n", value: "1 + 1", code: true },
    ],
    libs: ["vendor"],
  };
  test("libraries, external variables and arguments, with the build environment", async () => {
    const name = await bench.repository(files);
    const got = await render(bench.request(name, { path: "app", directory: { jsonnet } }));
    expect(got.objects).toMatchObject([
      { metadata: { name: "app-x" }, data: { tla: "a=b, c", n: "2", own: "own", text: "text" } },
    ]);
    // Only what can be imported counts.
    await bench.git.commit(name, { "unused/x.libsonnet": "2" }, "beside");
    const beside = await render(bench.request(name, { path: "app", directory: { jsonnet } }));
    await bench.git.commit(name, { "app/text.txt": "text2" }, "import");
    const changed = await render(bench.request(name, { path: "app", directory: { jsonnet } }));
    expect([beside.key === got.key, changed.key === got.key]).toEqual([true, false]);
  });
  test("what is null gives no object", async () => {
    const one = "{apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: 'a'}}";
    const name = await bench.repository({ "a.jsonnet": `[${one}, if false then 1]`, "b.jsonnet": "null" });
    expect(await bench.names(bench.request(name))).toEqual(["a"]);
  });
  test("an object by itself, among other manifests", async () => {
    const name = await bench.repository({
      "a.jsonnet": `{apiVersion:'v1',kind:'ConfigMap',metadata:{name:'j'}}`,
      "b.yaml": configMap("b"),
    });
    expect(await bench.names(bench.request(name))).toEqual(["b", "j"]);
  });
});

describe("settings from the repository", () => {
  test("a file for all applications, then one for this", async () => {
    const name = await bench.repository({
      ...chart("c/"),
      "c/.argocd-source.yaml":
        "helm: {parameters: [{name: v, value: all}], releaseName: all}\nrepoURL: https://evil.example/x\npath: other\n",
      "c/.argocd-source-app.yaml": "helm: {releaseName: mine}\n",
      "c/.argocd-source-other.yaml": "helm: {releaseName: other}\n",
    });
    const got = await render(bench.request(name, { path: "c", helm: { values: "w: spec\n" } }));
    expect(got.objects).toMatchObject([{ metadata: { name: "mine-c" }, data: { v: "all", w: "spec" } }]);
  });
  test("they may say that it is a directory, and must have the right types", async () => {
    const name = await bench.repository({
      "a/x.yaml": configMap("x"),
      "a/sub/y.yaml": configMap("y"),
      "a/.argocd-source.yaml": "directory: {recurse: true}\n",
      "b/.argocd-source.yaml": "helm: [1]\n",
    });
    expect(await bench.names(bench.request(name, { path: "a" }))).toEqual(["y", "x"]);
    expect(await bench.names(bench.request(name, { path: "b" }))).toMatch(
      /^ManifestInvalid: source.helm must be an object/,
    );
  });
});

describe("the build environment", () => {
  test("is put into Helm's parameters and file names, and into Kustomize's images and labels", async () => {
    const name = await bench.repository({
      ...chart("c/"),
      "c/app.yaml": "w: of-app\n",
      "k/kustomization.yaml": "resources: [d.yaml]\n",
      "k/d.yaml":
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {template: {spec: {containers: [{name: c, image: 'web:1'}]}}}\n",
    });
    const helm = {
      valueFiles: ["$ARGOCD_APP_NAME.yaml"],
      parameters: [{ name: "v", value: "$ARGOCD_APP_NAMESPACE/$ARGOCD_APP_SOURCE_PATH/$$x" }],
    };
    expect(await dataOf(bench.request(name, { path: "c", helm }))).toMatchObject([{ v: "dest/c/$x", w: "of-app" }]);
    const kustomize = {
      images: ["web:$ARGOCD_APP_REVISION_SHORT"],
      commonLabels: { of: "$ARGOCD_APP_NAME" },
      commonAnnotations: { plain: "$ARGOCD_APP_NAME" },
      labelWithoutSelector: true,
    };
    const got = await render(bench.request(name, { path: "k", kustomize }));
    expect(got.objects).toMatchObject([
      {
        metadata: { labels: { of: "app" }, annotations: { plain: "$ARGOCD_APP_NAME" } },
        spec: { template: { spec: { containers: [{ image: `web:${got.revision.slice(0, 7)}` }] } } },
      },
    ]);
    const put = { commonAnnotations: { plain: "$ARGOCD_APP_NAME" }, commonAnnotationsEnvsubst: true };
    expect((await render(bench.request(name, { path: "k", kustomize: put }))).objects).toMatchObject([
      { metadata: { annotations: { plain: "app" } } },
    ]);
  });
});

describe("Helm", () => {
  test("value files: order is theirs, and one that is named beats the same from a glob", async () => {
    const name = await bench.repository({
      ...chart("c/"),
      "c/e/1.yaml": "v: '1'\nw: '1'\n",
      "c/e/2.yaml": "v: '2'\n",
      "c/e/d/3.yaml": "v: '3'\n",
    });
    const v = async (...valueFiles: string[]) =>
      (await dataOf(bench.request(name, { path: "c", helm: { valueFiles } })))[0].v;
    expect(await v("e/*.yaml")).toBe("2");
    expect(await v("e/1.yaml", "e/*.yaml")).toBe("2");
    expect(await v("e/*.yaml", "e/1.yaml")).toBe("1");
    expect(await v("e/**/*.yaml")).toBe("3");
    expect(await v("/c/e/[12].yaml")).toBe("2");
  });
  test("value files: each has its first place, a folder's own come before those below it, and a folder is not a values file", async () => {
    const name = await bench.repository({
      ...chart("c/"),
      "c/e/1.yaml": "v: '1'\n",
      "c/e/b/2.yaml": "v: '2'\n",
      "c/e/c.yaml": "v: 'c'\n",
      "c/e/{1,c}.yaml": "v: 'braces'\n",
    });
    const asked = (...valueFiles: string[]) => bench.request(name, { path: "c", helm: { valueFiles } });
    const v = async (...valueFiles: string[]) => (await dataOf(asked(...valueFiles)))[0].v;
    expect(await v("e/1.yaml", "e/c.yaml", "e/1.yaml")).toBe("c");
    expect(await v("e/**/*.yaml")).toBe("2");
    expect(await v("e/{1,c}.yaml")).toBe("braces");
    expect(await v("e/{1,c}*.yaml")).toBe("c");
    expect(await bench.names(asked("e/*"))).toMatch(/matches c\/e\/b, which is a directory/);
    expect(await bench.names(asked("e/**"))).toMatch(/which is a directory/);
  });
  test("what the cluster can do", async () => {
    const files = {
      ...chart("c/"),
      "c/templates/v.yaml":
        '{{ if .Capabilities.APIVersions.Has "x.io/v1/Thing" }}\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: "{{ .Capabilities.KubeVersion.Minor }}"}\n{{ end }}\n',
    };
    const name = await bench.repository(files);
    const asked = (helm: object, more: Partial<RenderRequest>) =>
      bench.names(bench.request(name, { path: "c", helm }, more));
    expect(await asked({}, { kubeVersion: "v1.30.1" })).toEqual(["app-c"]);
    expect(await asked({}, { kubeVersion: "v1.30.1", apiVersions: ["x.io/v1", "x.io/v1/Thing"] })).toEqual([
      "app-c",
      "30",
    ]);
    expect(await asked({ kubeVersion: "1.29.0", apiVersions: ["x.io/v1/Thing"] }, { kubeVersion: "v1.30.1" })).toEqual([
      "app-c",
      "29",
    ]);
    expect(await asked({ kubeVersion: "v1.29", apiVersions: ["x.io/v1/Thing"] }, {})).toEqual(["app-c", "29"]);
    expect(await asked({ kubeVersion: "newest" }, {})).toMatch(/^ChartRenderFailed.*newest/);
  });
  test("dependencies of the same repository that are not in charts/", async () => {
    const dependencies =
      'dependencies: [{name: sub, version: "1.x", repository: "file://../sub"}, {name: sub, alias: again, version: "1.x", repository: "file://../sub"}]\n';
    const files = { ...chart("c/", "c", dependencies), ...chart("sub/", "sub", "", "1.3.0") };
    const name = await bench.repository(files);
    const first = await render(bench.request(name, { path: "c" }));
    expect(first.objects!.map((o) => o.metadata.name).sort()).toEqual(["app-c", "app-sub", "app-sub"]);
    await bench.git.commit(name, { "sub/values.yaml": "v: changed\n" }, "dependency");
    const second = await render(bench.request(name, { path: "c" }));
    expect(second.key).not.toBe(first.key);
    await bench.git.commit(name, chart("sub/", "sub", "", "2.0.0"), "too new");
    expect(await bench.names(bench.request(name, { path: "c" }))).toMatch(
      /^ChartNotFound.*2\.0\.0, which 1\.x does not allow/,
    );
  });
  test("links in a chart count with what they lead to", async () => {
    const name = await bench.repository({
      ...chart("c/"),
      "c/values.yaml": { link: "../shared/values.yaml" },
      "shared/values.yaml": "v: one\n",
    });
    const first = await render(bench.request(name, { path: "c" }));
    await bench.git.commit(name, { "shared/values.yaml": "v: two\n" }, "target");
    const second = await render(bench.request(name, { path: "c" }));
    expect([first.objects![0]!.data.v, second.objects![0]!.data.v, first.key === second.key]).toEqual([
      "one",
      "two",
      false,
    ]);
  });
});

describe("value files from elsewhere", () => {
  let server: Server;
  let at: string;
  beforeAll(async () => {
    server = createServer((asked, answer) => {
      if (asked.url === "/values.yaml") return void answer.end("v: remote\n");
      if (asked.url === "/moved") return void answer.writeHead(302, { location: "/values.yaml" }).end();
      if (asked.url === "/metadata")
        return void answer.writeHead(302, { location: "http://169.254.169.254/latest" }).end();
      if (asked.url === "/circle") return void answer.writeHead(302, { location: "/circle" }).end();
      if (asked.url === "/file") return void answer.writeHead(302, { location: "file:///etc/passwd" }).end();
      if (asked.url === "/large") return void answer.end("x".repeat(3_000_000));
      answer.writeHead(404).end("canary");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    at = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => new Promise((resolve) => server.close(resolve)));
  test.each([
    ["", "/values.yaml", "remote"],
    ["after a redirect", "/moved", "remote"],
  ])("are read %s", async (_, path, want) => {
    const name = await bench.repository(chart(""));
    expect(await dataOf(bench.request(name, { helm: { valueFiles: [at + path] } }))).toMatchObject([{ v: want }]);
  });
  test.each([
    ["what is not there", "/nope", /^PathNotFound: [^c]*answered 404$/],
    ["a redirect to a cloud's metadata", "/metadata", /^RepositoryUrlRefused/],
    ["a redirect in a circle", "/circle", /^RepositoryUrlRefused.*more than/],
    ["a redirect to a file", "/file", /^RepositoryUrlRefused/],
    ["too much", "/large", /^SourceTooLarge/],
    ["another scheme", "file:///etc/passwd", /^RepositoryUrlRefused/],
    ["a cloud's metadata", "http://169.254.169.254/x", /^RepositoryUrlRefused/],
    ["the same in other words", "http://[::ffff:a9fe:a9fe]/x", /^RepositoryUrlRefused/],
    ["credentials in it", "http://a:canary@example.invalid/x", /^RepositoryUrlRefused(?!.*canary)/],
  ])("are refused: %s", async (_, path, want) => {
    const name = await bench.repository(chart(""));
    expect(
      await bench.names(bench.request(name, { helm: { valueFiles: [path.startsWith("/") ? at + path : path] } })),
    ).toMatch(want);
  });
  test("this machine is refused, unless files at hand are meant", async () => {
    const strict = await startBench();
    try {
      const name = await strict.repository(chart(""));
      for (const url of [
        `${at}/values.yaml`,
        at.replace("127.0.0.1", "localhost"),
        "http://[::1]/x",
        "http://0.0.0.0/x",
      ])
        expect(await strict.names(strict.request(name, { helm: { valueFiles: [url] } }))).toMatch(
          /^RepositoryUrlRefused/,
        );
    } finally {
      await strict.stop();
    }
  });
});

describe("Kustomize", () => {
  const files = {
    "k/kustomization.yaml": "resources: [a.yaml]\n",
    "k/a.yaml": configMap("a"),
    "parts/one/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nnameSuffix: -one\n",
  };
  test.each<[string, Source["kustomize"], string[] | RegExp]>([
    ["a component", { components: ["../parts/one"] }, ["a-one"]],
    ["a component that is not there", { components: ["../parts/two"] }, /^PathNotFound/],
    [
      "the same, if that does not matter",
      { components: ["../parts/two", "../parts/one"], ignoreMissingComponents: true },
      ["a-one"],
    ],
    [
      "labels for templates alone",
      { commonLabels: { a: "b" }, labelIncludeTemplates: true },
      /^KustomizeFailed: k\/kustomization.yaml: labelIncludeTemplates/,
    ],
    ["a version that is not built in", { version: "v1.2.3" }, /^SourceUnsupported.*v1\.2\.3 is not registered/],
    [
      "a version of Kubernetes that is none",
      { kubeVersion: "newest" },
      /^KustomizeFailed: kubeVersion "newest" is not a version/,
    ],
    ["an image of which nothing new is said", { images: ["web"] }, /^KustomizeFailed.*says nothing new/],
    ["a patch from elsewhere", { patches: [{ path: "https://evil.example/p" }] }, /^SourceRefused.*remote file/],
    ["replicas as text", { replicas: [{ name: "a", count: "2" }] }, /^KustomizeFailed|a/],
    ["a component from elsewhere", { components: ["https://evil.example/x"] }, /^SourceRefused.*remote base/],
  ])("%s", async (_, kustomize, want) => {
    const got = await bench.names(bench.request(await bench.repository(files), { path: "k", kustomize }));
    if (Array.isArray(want)) expect(got).toEqual(want);
    else expect(String(got)).toMatch(want);
  });
});

test.each([
  ["v1.x", undefined, "v1.2.0"],
  [">=1.0.0-0", undefined, "v2.0.0-rc.1"],
  [">1.0.0, <1.2", undefined, "v1.1.0"],
  ["!=1.2.0 1.x", undefined, "v1.1.0"],
  ["1.x", "web-", "web-1.9.0"],
  ["~1.1", undefined, "v1.1.0"],
])("the tag that %s (prefix %s) means", async (targetRevision, tagPrefix, want) => {
  tagged ??= (async () => {
    const name = await bench.repository({ "a.yaml": configMap("first") });
    for (const tag of ["v1.0.0", "v1.1.0", "v1.2.0", "v2.0.0-rc.1", "web-1.9.0", "other"]) {
      await bench.git.commit(name, { "a.yaml": configMap(tag) }, tag);
      await bench.git.tag(name, tag);
    }
    return name;
  })();
  expect(await bench.names(bench.request(await tagged, { targetRevision, tagPrefix }))).toEqual([want]);
});
let tagged: Promise<string> | undefined;
