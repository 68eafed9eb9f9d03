import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { type Bench, chart, configMap, startBench } from "../../server/agent/repo/testing.ts";
import type { Source } from "../../server/agent/repo/types.ts";
import { tryKind } from "../../server/delegate/kinds/table.ts";
import { type KindBench, kindBench } from "../../server/delegate/testing/kind.ts";
import { toolPath } from "../cluster/apiserver.ts";
import type { Change } from "../servers/git.ts";
import { CANARY, type Probe, startProbe } from "./render.ts";

// Every place where a text of a user becomes an argument of git, Helm, Kustomize, Jsonnet, Terraform or buildah: it is never more than that one value.
const work = mkdtempSync(join(tmpdir(), "abuse-arguments-"));
const secret = join(work, "secret.yaml");
const escaped = join(work, "escaped");
writeFileSync(secret, `v: ${CANARY}\n`);

let bench: Bench;
let probe: Probe;
let kinds: KindBench;
let index: Server;
let charts: string;
let all: string;
beforeAll(async () => {
  bench = await startBench();
  all = await bench.repository(
    Object.fromEntries(
      cases.flatMap(([, files], i) => Object.entries(files()).map(([path, change]) => [`c${i}/${path}`, change])),
    ),
  );
  probe = await startProbe(bench.service);
  kinds = kindBench(join(work, "kinds"), {
    PATH: [dirname(toolPath("helm")), process.env.PATH].join(delimiter),
    HOME: work,
  });
  // A repository that has every chart in every version.
  index = createServer((_, answer) =>
    answer.end('apiVersion: v1\nentries:\n  web:\n  - version: 1.0.0\n    urls: ["web.tgz"]\n'),
  );
  await new Promise<void>((resolve) => index.listen(0, "127.0.0.1", resolve));
  charts = `http://127.0.0.1:${(index.address() as AddressInfo).port}`;
});
afterAll(async () => {
  await new Promise((resolve) => index.close(resolve));
  await probe.stop();
  await bench.stop();
  rmSync(work, { recursive: true, force: true });
});
afterEach(() => expect(existsSync(escaped)).toBe(false));

const FAILS = /^(ChartRenderFailed|SourceRefused|ManifestInvalid|KustomizeFailed|PathNotFound|PathEscapesRepository)/;
const CHART = chart("");
const overlay = (more: Record<string, Change> = {}) => ({
  "kustomization.yaml": "resources: [a.yaml]\n",
  "a.yaml": configMap("a"),
  ...more,
});
const helm = (given: Source["helm"]): Partial<Source> => ({ helm: given! });
const kustomize = (given: Source["kustomize"]): Partial<Source> => ({ kustomize: given! });

type Case = [string, () => Record<string, Change>, () => Partial<Source>, RegExp];
const cases: Case[] = [
  // `--name-template` would be a template.
  [
    "a release name that asks for the environment",
    () => CHART,
    () => helm({ releaseName: 'r{{ env "HOME" | len }}' }),
    /^ChartRenderFailed/,
  ],
  [
    "a release name that asks DNS",
    () => CHART,
    () => helm({ releaseName: 'r{{ getHostByName "localhost" | len }}' }),
    /^ChartRenderFailed.*invalid release name/,
  ],
  [
    "a release name of the repository's own settings",
    () => ({ ...CHART, ".argocd-source.yaml": "helm: {releaseName: 'r{{ 1 }}'}\n" }),
    () => ({}),
    /^ChartRenderFailed.*invalid release name/,
  ],
  // `--set-file` takes a list, and `--values` a line of CSV.
  ...[`v=${secret},w`, `v=${secret}\\\\,w`, "w,v", "v=", ",v", "v\\", `w\\=x,v=${secret},y`].map(
    (name): Case => [
      `a file parameter named ${JSON.stringify(name)}`,
      () => CHART,
      () => helm({ fileParameters: [{ name, path: "values.yaml" }] }),
      /^SourceRefused.*file parameter/,
    ],
  ),
  [
    "a file parameter named with a comma that is not an end",
    () => CHART,
    () => helm({ fileParameters: [{ name: "v\\,w", path: "values.yaml" }] }),
    /^app-c$/,
  ],
  [
    "a file parameter in a folder that would be a file of this machine",
    () => ({ ...CHART, "a\\": "x", [`a\\\\,v=${secret}`]: "mine" }),
    () => helm({ fileParameters: [{ name: "w", path: `a\\\\,v=${secret}` }] }),
    /^app-c$/,
  ],
  [
    "values in a folder that would be a file of this machine",
    () => ({ ...CHART, a: "v: x\n", [`a,${secret}`]: "v: mine\n" }),
    () => helm({ valueFiles: [`a,${secret}`] }),
    /^app-c$/,
  ],
  [
    "values in a file with quotes",
    () => ({ ...CHART, 'a",b".yaml': "v: mine\n" }),
    () => helm({ valueFiles: ['a",b".yaml'] }),
    /^app-c$/,
  ],
  [
    "a parameter that would be a file",
    () => CHART,
    () => helm({ parameters: [{ name: `--set-file=v`, value: secret }] }),
    /^app-c$/,
  ],
  [
    "a parameter whose value goes on",
    () => CHART,
    () => helm({ parameters: [{ name: "v", value: `x\\\\,w=${secret}` }] }),
    FAILS,
  ],
  [
    "versions that are options",
    () => CHART,
    () => helm({ kubeVersion: "--debug", apiVersions: ["--debug"] }),
    /^ChartRenderFailed/,
  ],
  ["a namespace that is a template", () => CHART, () => helm({ namespace: "{{ 1 }}" }), /^app-c$/],
  // What is put into a kustomization is data there, judged like what the repository wrote.
  ["a prefix", overlay, () => kustomize({ namePrefix: "--enable-exec-" }), /^--enable-exec-a$/],
  ["an image", overlay, () => kustomize({ images: ["--enable-helm=x:y", "=", "@", ":"] }), /^a$|^KustomizeFailed/],
  ["replicas", overlay, () => kustomize({ replicas: [{ name: "--x", count: 1 }] }), FAILS],
  ["labels", overlay, () => kustomize({ commonLabels: { "--enable-exec": "--enable-exec" } }), /^a$|^KustomizeFailed/],
  [
    "a component that is an option",
    overlay,
    () => kustomize({ components: ["--load-restrictor=LoadRestrictionsNone"] }),
    FAILS,
  ],
  ["a component above", overlay, () => kustomize({ components: ["../../x"] }), FAILS],
  ["a component from here", overlay, () => kustomize({ components: [`${probe.url}/x`] }), FAILS],
  ["a patch in a file of this machine", overlay, () => kustomize({ patches: [{ path: secret }] as never }), FAILS],
  ["a patch from here", overlay, () => kustomize({ patches: [{ path: `${probe.url}/p` }] as never }), FAILS],
  ["a version of the tool", overlay, () => kustomize({ version: `../../../..${escaped}` }), /^SourceUnsupported/],
  [
    "a folder that is an option",
    () => ({ "--enable-exec/kustomization.yaml": "resources: [a.yaml]\n", "--enable-exec/a.yaml": configMap("a") }),
    () => ({ path: "--enable-exec" }),
    /^a$/,
  ],
  [
    "a chart's folder that is an option",
    () => chart("--post-renderer=x/"),
    () => ({ path: "--post-renderer=x" }),
    /^app-c$/,
  ],
];

// One repository with a folder for each: making one takes longer than rendering it.
test.each(cases.map((one, i) => [one[0], i] as const))(
  "what a user writes is one value of one option: %s",
  async (_, i) => {
    const [, files, source, want] = cases[i]!;
    const given = source();
    const asked = given.path
      ? bench.request(await bench.repository(files()), given)
      : bench.request(all, { path: `c${i}`, ...given });
    expect(await probe.outcome(asked)).toMatch(want);
  },
);

test.each(["--devel", "../web", "../../../../etc/passwd", "web/../web", "-", "web\n--x", "--post-renderer=/bin/sh"])(
  "%j is not a chart of a repository, and no version of one",
  async (text) => {
    const ask = (source: Partial<Source>) => bench.request("none", { repoURL: charts, ...source });
    for (const source of [
      { chart: text, targetRevision: "1.0.0" },
      { chart: "web", targetRevision: text },
    ])
      expect(await probe.outcome(ask(source))).toMatch(
        /^(ChartNotFound|RevisionNotFound|SourceRefused|ManifestInvalid|RepositoryUrlRefused)/,
      );
  },
);

test.each([
  "+a.example",
  "-a.example",
  "a,b.example",
  "a'b.example",
  "a$(id).example",
  "a;b.example",
  "a`id`.example",
  "*",
])("%j is not a host: to git's curl and to a shell it would be more than a name", async (host) => {
  for (const url of [`https://${host}/x`, `https://${host}:443/x`, `ssh://git@${host}/x`, `git@${host}:x`])
    expect([url, await bench.service.refs({ url })]).toEqual([
      url,
      expect.objectContaining({ reason: "RepositoryUrlRefused" }),
    ]);
});

// What a delegate's tasks give to programs: the contract refuses it, or the program fails, and nothing else happens.
const OPTION = `--upload-pack=touch\${IFS}${escaped};`;
const CLONE = "http://127.0.0.1:9/x";
const files = (more: Record<string, string> = {}) => ({
  source: { files: { ...(CHART as Record<string, string>), ...more } },
});
const plan = (more: object) => ({ source: { files: { "a.tf": "" } }, ...more });
const image = (more: object) => ({
  source: { files: { Dockerfile: "FROM scratch\n" } },
  tags: ["r.example/a:1"],
  ...more,
});
const upgrade = (more: object) => ({ release: "r", chart: files(), ...more });
test.each<[string, object]>([
  ["git.clone", { url: OPTION }],
  ["git.clone", { url: `ext::sh -c touch% ${escaped}` }],
  ["git.clone", { url: `-oProxyCommand=touch\${IFS}${escaped}@h:x` }],
  ["git.clone", { url: `ssh://-oProxyCommand=touch%20${escaped}/x` }],
  ["git.clone", { url: `git@-oProxyCommand=touch:${escaped}` }],
  ["git.clone", { url: "a@[:x" }],
  ["git.clone", { url: "https://[" }],
  ["git.clone", { url: "file:///etc" }],
  ["git.clone", { url: CLONE, revision: OPTION }],
  ["git.clone", { url: CLONE, revision: "+refs/heads/*:refs/heads/*", depth: 1 }],
  ["git.clone", { url: `${CLONE}\n--x` }],
  ["gitops.revertPR", { provider: { type: "gitea", repository: "a/b", token: "x" }, commit: "--strategy=x" }],
  [
    "gitops.revertPR",
    { provider: { type: "gitea", repository: "a/b", token: "x" }, commit: "0".repeat(40), baseBranch: OPTION },
  ],
  ["helm.package", { ...files(), version: "--destination=/" }],
  ["helm.package", { ...files(), appVersion: "--key" }],
  ["helm.package", { ...files(), path: "--sign" }],
  ["helm.package", { ...files(), path: "../../.." }],
  ["helm.upgrade", upgrade({ release: "--post-renderer=/bin/sh" })],
  ["helm.upgrade", upgrade({ namespace: "--kubeconfig=/x" })],
  ["helm.upgrade", upgrade({ set: { [`v=${secret},w`]: "x" } })],
  ["helm.upgrade", upgrade({ set: { "v,w": "x" } })],
  ["helm.upgrade", upgrade({ set: { "--post-renderer": "/bin/sh" } })],
  ["helm.upgrade", upgrade({ valueFiles: ["--post-renderer"] })],
  ["helm.upgrade", upgrade({ valueFiles: [`../../${secret}`] })],
  ["helm.upgrade", upgrade({ chart: { repository: CLONE, name: "--devel", version: "1" } })],
  ["helm.upgrade", upgrade({ chart: { repository: CLONE, name: "a", version: "--devel" } })],
  ["helm.upgrade", upgrade({ chart: { oci: "--post-renderer=/bin/sh" } })],
  ["helm.uninstall", { release: "--debug" }],
  ["helm.push", { artifact: { task: "t-00000000000000000001", name: "--x.tgz" }, to: "oci://h/x" }],
  ["helm.push", { artifact: { task: "t-00000000000000000001", name: "x.tgz" }, to: "--plain-http" }],
  ["terraform.plan", plan({ workspace: "-var=x" })],
  ["terraform.plan", plan({ path: "-chdir=/" })],
  ["terraform.plan", plan({ backendConfig: { "-x": "y" } })],
  ["terraform.plan", plan({ variables: { "-x": "y" } })],
  ["image.build", image({ target: "--volume=/:/host" })],
  ["image.build", image({ platform: "--volume=/:/host" })],
  ["image.build", image({ dockerfile: "--volume=/:/host" })],
  ["image.build", image({ context: "--volume=/:/host" })],
  ["image.build", image({ buildArgs: { "--volume": "/:/host" } })],
  ["image.build", image({ labels: { "--volume": "/:/host" } })],
  ["image.build", image({ tags: ["--volume=/:/host"] })],
])("what a task gives to a program is not an option of it: %s %j", async (name, params) => {
  const kind = tryKind(name)!;
  expect(kind).toBeDefined();
  if (!kind.validate(params)) return;
  const ended = await kinds.run(kind, params);
  expect(ended.outcome).toBe("failed");
  expect(ended.reason).toMatch(/^[A-Z][A-Za-z]+$/);
  expect(JSON.stringify(ended)).not.toContain(CANARY);
});
