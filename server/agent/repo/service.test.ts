import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { toolPath } from "../../../test/cluster/apiserver.ts";
import { type Change, type GitServer, startGit } from "../../../test/servers/git.ts";
import { startGitSsh } from "../../../test/servers/git-ssh.ts";
import { Secret } from "../../base/secret.ts";
import type { RepoService } from "./service.ts";
import { type Bench, startBench } from "./testing.ts";
import { REPO, type RenderRequest, type RepoAccess, type Source } from "./types.ts";

let bench: Bench;
let git: GitServer;
let service: RepoService;
beforeAll(async () => {
  bench = await startBench();
  ({ git, service } = bench);
});
afterAll(() => bench.stop());

const repository = (files: Record<string, Change>) => bench.repository(files);
const request = (...args: Parameters<Bench["request"]>) => bench.request(...args);
const names = (asked: RenderRequest) => bench.names(asked);
const cm = (name: string) => `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\n`;

describe("directories", () => {
  const files = {
    "a.yaml": cm("a"),
    "b.json": '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"}}',
    ".hidden.yml": cm("hidden"),
    "sub/c.yaml": cm("c"),
    "sub/deep/d.yaml": cm("d"),
    "values.yaml": "a: 1\n",
    "broken.yaml": "a: [\n",
    "skip.yaml": `# +argocd:skip-file-rendering\n${cm("skip")}`,
    "README.md": "# x",
    "gone.yaml": { link: "nowhere.yaml" },
    "again.txt": { link: "a.yaml" },
  };
  let name: string;
  beforeAll(async () => {
    name = await repository(files);
  });
  test.each([
    ["this level alone", {}, ["hidden", "a", "b"]],
    ["all levels", { recurse: true }, ["hidden", "a", "b", "c", "d"]],
    ["with an include", { recurse: true, include: "sub/*" }, ["c", "d"]],
    ["with an exclude", { recurse: true, exclude: "{*.json,sub/deep/*}" }, ["hidden", "a", "c"]],
  ])("%s", async (_, directory, want) => {
    expect(await names(request(name, { directory }))).toEqual(want);
  });
  test("a folder with the name of a tool's file is a folder", async () => {
    expect(await names(request(await repository({ "a.yaml": cm("a"), "Kustomization/b.yaml": cm("b") })))).toEqual([
      "a",
    ]);
  });
  test("UTF-16 with a byte order mark", async () => {
    const content = Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(cm("wide"), "utf16le")]);
    expect(await names(request(await repository({ "w.yaml": content })))).toEqual(["wide"]);
  });
});

test("a commit that does not touch the path has the same key, and the objects are left out", async () => {
  const name = await repository({ "app/a.yaml": cm("a"), "other/b.yaml": cm("b") });
  const first = await service.render(request(name, { path: "app" }));
  if (first.kind !== "done") throw new Error(first.message);
  await git.commit(name, { "other/b.yaml": cm("c") }, "elsewhere");
  const second = await service.render(request(name, { path: "app" }, { known: first.value.key }));
  expect(second).toMatchObject({ kind: "done", value: { key: first.value.key } });
  expect(
    second.kind === "done" && second.value.revision !== first.value.revision && second.value.objects === undefined,
  ).toBe(true);
});

test("fifty questions at once are two to the remote", async () => {
  const name = await repository({ "a.yaml": cm("a") });
  await service.render(request(name));
  const before = git.requests(name);
  await Promise.all(Array.from({ length: 50 }, () => service.render(request(name))));
  // One ls-remote is two requests of protocol 2: the abilities and the refs.
  expect(git.requests(name) - before).toBeLessThanOrEqual(6);
});

test("what the remote was asked since a question arose answers it; what it was asked before does not", async () => {
  const name = await repository({ "a.yaml": cm("a") });
  const arose = performance.now();
  expect(await names(request(name))).toEqual(["a"]);
  const answered = performance.now();
  await git.commit(name, { "a.yaml": cm("b") }, "later");
  const before = git.requests(name);
  expect(await names(request(name, {}, { sinceMs: performance.now() - arose }))).toEqual(["a"]);
  expect(git.requests(name)).toBe(before);
  for (const sinceMs of [performance.now() - answered, 0, -1_000])
    expect(await names(request(name, {}, { sinceMs }))).toEqual(["b"]);
  expect(git.requests(name)).toBeGreaterThan(before);
  await git.commit(name, { "a.yaml": cm("c") }, "last");
  expect(await names(request(name, {}, { freshness: "hard", sinceMs: 60_000 }))).toEqual(["c"]);
});

test("credentials are used, never shown, and not lent to who has none", async () => {
  await git.createRepository("closed", { users: { ana: "canary-password" }, files: { "a.yaml": cm("a") } });
  const url = git.cloneUrl("closed");
  const access = (password: string) => ({ url, username: "ana", password: new Secret(password) });
  expect(await names(request("closed", {}, { repo: access("canary-password") }))).toEqual(["a"]);
  expect(await names(request("closed"))).toMatch(/^AuthenticationFailed: .* asks for credentials/);
  expect(await names(request("closed", {}, { repo: access("wrong") }))).toMatch(
    /^AuthenticationFailed: .* does not accept/,
  );
  const withUser = url.replace("://", "://ana:canary-wrong@");
  const refused = await service.render(request("closed", { repoURL: withUser }));
  expect(JSON.stringify(refused)).not.toContain("canary");
});

test("a repository that has moved is followed, and its credentials stay with their host", async () => {
  await git.createRepository("moved", { users: { ana: "pass" }, files: { "a.yaml": cm("a") } });
  const target = new URL(git.cloneUrl("moved"));
  const server = createServer((asked, answer) => {
    answer.writeHead(301, { location: `${target.origin}${asked.url!.replace("/old", target.pathname)}` }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/old`;
  try {
    // Another port is another host: it gets no password, so the closed repository stays closed.
    const repo = { url, username: "ana", password: new Secret("pass") };
    expect(await names(request("moved", { repoURL: url }, { repo }))).toMatch(/^AuthenticationFailed/);
    git.setPassword("moved", "ana", null);
    await git.createRepository("open", { files: { "a.yaml": cm("open") } });
    target.pathname = new URL(git.cloneUrl("open")).pathname;
    expect(await names(request("moved", { repoURL: url }))).toEqual(["open"]);
  } finally {
    await new Promise((resolve) => server.close(resolve));
  }
});

const sshd = [process.env.OUTPOST_SSHD, "/usr/sbin/sshd"].find((file) => file && existsSync(file));
(sshd && process.getuid?.() === 0 ? test : test.skip)(
  "a repository over SSH, with its key and only with a known host",
  async () => {
    const libraries = process.env.OUTPOST_SSHD_LIBRARIES?.split(":") ?? [];
    const root = mkdtempSync(join(tmpdir(), "repo-ssh-"));
    const own = await startGit({ root });
    const ssh = await startGitSsh({ root, sshd: sshd!, libraries });
    try {
      await own.createRepository("ssh", { files: { "a.yaml": cm("a") } });
      const { privateKey } = await ssh.addKey();
      const url = ssh.cloneUrl("ssh");
      const asked = (repo: Partial<RepoAccess>) =>
        names(request("ssh", { repoURL: url }, { repo: { url, sshPrivateKey: new Secret(privateKey), ...repo } }));
      expect(await asked({ knownHosts: ssh.knownHosts() })).toEqual(["a"]);
      expect(await asked({})).toMatch(/^HostKeyUnknown: /);
      expect(await asked({ knownHosts: ssh.knownHosts(), sshPrivateKey: undefined })).toMatch(
        /^AuthenticationFailed: .* asks for credentials/,
      );
    } finally {
      await ssh.stop();
      await own.stop();
      rmSync(root, { recursive: true, force: true });
    }
  },
);

describe("hostile repositories are refused by name", () => {
  const kustomization = (text: string) => ({ "kustomization.yaml": text });
  const chart = "apiVersion: v2\nname: c\nversion: 0.1.0\n";
  test.each<[string, Record<string, Change>, Partial<Source>, RegExp]>([
    ["a link out of the repository", { "a.yaml": { link: "/etc/passwd" } }, {}, /^PathEscapesRepository/],
    [
      "a link above the root",
      { "x/a.yaml": { link: "../../../etc/hostname" } },
      { path: "x" },
      /^PathEscapesRepository/,
    ],
    ["a path from the root of a machine", { "a.yaml": cm("a") }, { path: "/etc" }, /^PathEscapesRepository.*absolute/],
    ["a path above the root", { "a.yaml": cm("a") }, { path: "../../etc" }, /^PathEscapesRepository/],
    ["a path through a link to the outside", { etc: { link: "/etc" } }, { path: "etc" }, /^PathEscapesRepository/],
    ["links in a circle", { a: { link: "b" }, b: { link: "a" } }, { path: "a" }, /^SourceRefused.*too many links/],
    ["a file as path", { "a.yaml": cm("a") }, { path: "a.yaml" }, /^PathNotFound.*is a file/],
    ["a remote base", kustomization("resources: [https://evil.example/x]\n"), {}, /^SourceRefused.*remote base/],
    ["a remote base of Git", kustomization("resources: ['git@evil.example:x/y']\n"), {}, /^SourceRefused.*remote base/],
    [
      "a remote base by host name",
      kustomization("resources: [github.com/evil/x?ref=main]\n"),
      {},
      /^SourceRefused.*remote base/,
    ],
    [
      "a remote patch",
      kustomization("patches: [{path: 'https://evil.example/p'}]\n"),
      {},
      /^SourceRefused.*remote file/,
    ],
    [
      "a remote file in a generator",
      kustomization("configMapGenerator: [{name: a, files: ['k=https://evil.example/f']}]\n"),
      {},
      /^SourceRefused.*remote file/,
    ],
    [
      "charts in Kustomize",
      kustomization("helmCharts: [{name: x, repo: 'https://evil.example'}]\n"),
      {},
      /^SourceRefused.*helmCharts/,
    ],
    ["a base above the root", kustomization("resources: [../../..]\n"), {}, /^PathEscapesRepository/],
    [
      "bases in a circle",
      { "a/kustomization.yaml": "resources: [../b]\n", "b/kustomization.yaml": "resources: [../a]\n" },
      { path: "a" },
      /^KustomizeFailed.*cycle/s,
    ],
    [
      "a program as generator",
      {
        ...kustomization("generators: [g.yaml]\n"),
        "g.yaml":
          "apiVersion: x/v1\nkind: X\nmetadata:\n  name: x\n  annotations:\n    config.kubernetes.io/function: |\n      exec: {path: ./run.sh}\n",
        "run.sh": { exec: "#!/bin/sh\ntouch /tmp/escaped\n" },
      },
      {},
      /^KustomizeFailed/,
    ],
    [
      "a secret file by Kustomize",
      kustomization("secretGenerator: [{name: s, files: [/etc/passwd]}]\n"),
      {},
      /^KustomizeFailed/,
    ],
    [
      "a values file above the root",
      { "Chart.yaml": chart },
      { helm: { valueFiles: ["../../etc/passwd"] } },
      /^PathEscapesRepository/,
    ],
    [
      "a values file that is a link out",
      { "Chart.yaml": chart, "v.yaml": { link: "/etc/passwd" } },
      { helm: { valueFiles: ["v.yaml"] } },
      /^PathEscapesRepository/,
    ],
    [
      "a parameter file above the root",
      { "Chart.yaml": chart },
      { helm: { fileParameters: [{ name: "a", path: "../../../etc/passwd" }] } },
      /^PathEscapesRepository/,
    ],
    [
      "a dependency above the root",
      { "Chart.yaml": `${chart}dependencies: [{name: d, version: "1", repository: "file://../../d"}]\n` },
      {},
      /^PathEscapesRepository/,
    ],
    [
      "a dependency that is not there",
      { "Chart.yaml": `${chart}dependencies: [{name: d, version: "1", repository: "https://evil.example"}]\n` },
      {},
      /^DependencyRefused.*not registered.*helm dependency update/s,
    ],
    [
      "a chart whose name is a path",
      { "Chart.yaml": "apiVersion: v2\nname: ../../x\nversion: 0.1.0\n" },
      {},
      /^SourceRefused/,
    ],
    [
      "a values glob that matches nothing",
      { "Chart.yaml": chart },
      { helm: { valueFiles: ["env/*.yaml"] } },
      /^PathNotFound: values file glob env\/\*\.yaml matched no files/,
    ],
    [
      "an alias bomb",
      {
        "a.yaml": `${cm("a")}a: &a [1,1,1,1,1,1,1,1,1]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c]\n`,
      },
      {},
      /^ManifestInvalid/,
    ],
    ["a file of 11 MB", { "a.yaml": `${cm("a")}# ${"x".repeat(11_000_000)}` }, {}, /^SourceTooLarge/],
    ["JSON that is not an object", { "a.json": "[1]" }, {}, /^ManifestInvalid/],
    [
      "a revision that looks like an option",
      { "a.yaml": cm("a") },
      { targetRevision: "--upload-pack=touch /tmp/escaped" },
      /^RevisionNotFound/,
    ],
  ])("%s", async (_, files, source, want) => {
    const name = await repository(files);
    expect(await names(request(name, source))).toMatch(want);
  });
  test("a submodule is not fetched", async () => {
    const name = await repository({
      ".gitmodules": '[submodule "x"]\n\tpath = x\n\turl = ext::sh -c id\n',
      "a.yaml": cm("a"),
    });
    expect(await names(request(name, { directory: { recurse: true } }))).toEqual(["a"]);
  });
});

describe("Helm", () => {
  const files = {
    "c/Chart.yaml": "apiVersion: v2\nname: c\nversion: 0.1.0\n",
    "c/values.yaml": "a: chart\nb: chart\nc: chart\nd: chart\ne: chart\n",
    "c/v1.yaml": "b: file\nc: file\nd: file\ne: file\n",
    "env/v2.yaml": "c: file2\n",
    "c/crds/x.yaml":
      "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: xs.x.io}\nspec: {}\n",
    "c/templates/x.yaml": `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "{{ .Release.Name }}"}\ndata: {a: "{{ .Values.a }}", b: "{{ .Values.b }}", c: "{{ .Values.c }}", d: "{{ .Values.d }}", e: "{{ .Values.e }}", look: '{{ lookup "v1" "Namespace" "" "default" | toJson }}', env: '{{ .Values.f }}'}\n`,
  };
  test("precedence is chart, files, values, valuesObject, parameters", async () => {
    const name = await repository(files);
    const helm = {
      valueFiles: ["v1.yaml", "/env/*.yaml"],
      values: "d: values\ne: values\n",
      parameters: [{ name: "e", value: "x,y" }],
      releaseName: "rel",
      skipCrds: true,
    };
    const got = await service.render(request(name, { path: "c", helm }));
    expect(got.kind === "done" && got.value.objects).toMatchObject([
      { metadata: { name: "rel" }, data: { a: "chart", b: "file", c: "file2", d: "values", e: "x,y", look: "{}" } },
    ]);
    expect(await names(request(name, { path: "c" }))).toEqual(["xs.x.io", "app"]);
  });
});

describe("charts of a Helm repository", () => {
  let server: Server;
  let url: string;
  const work = mkdtempSync(join(tmpdir(), "charts-"));
  const helm = (...args: string[]) => execFileSync(toolPath("helm"), args, { cwd: work, stdio: "pipe" });
  beforeAll(async () => {
    mkdirSync(join(work, "web/templates"), { recursive: true });
    writeFileSync(
      join(work, "web/templates/cm.yaml"),
      'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "web-{{ .Chart.Version }}"}\ndata: {v: "{{ .Values.v }}"}\n',
    );
    writeFileSync(join(work, "web/values.yaml"), "v: chart\n");
    writeFileSync(join(work, "web/prod.yaml"), "v: prod\n");
    for (const version of ["1.0.0", "1.2.0", "2.0.0"]) {
      writeFileSync(join(work, "web/Chart.yaml"), `apiVersion: v2\nname: web\nversion: ${version}\n`);
      helm("package", "web");
    }
    helm("repo", "index", ".");
    const expected = `Basic ${Buffer.from("ana:pass").toString("base64")}`;
    server = createServer((asked, answer) => {
      if (asked.headers.authorization !== expected)
        return void answer.writeHead(401, { "www-authenticate": "Basic" }).end();
      const file = join(work, asked.url!.replace(/[^a-z0-9./-]/gi, ""));
      return void (existsSync(file) ? answer.end(readFileSync(file)) : answer.writeHead(404).end());
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(async () => {
    await new Promise((resolve) => server.close(resolve));
    rmSync(work, { recursive: true, force: true });
  });
  const asked = (source: Partial<Source>, repo: Partial<RepoAccess> = {}): RenderRequest =>
    request(
      "unused",
      { repoURL: url, path: undefined, chart: "web", ...source },
      { repo: { url, type: "helm", username: "ana", password: new Secret("pass"), ...repo } },
    );
  test.each([
    ["an exact version", { targetRevision: "1.0.0" }, ["web-1.0.0"]],
    ["a range", { targetRevision: "1.x" }, ["web-1.2.0"]],
    ["the newest", { targetRevision: "*" }, ["web-2.0.0"]],
    ["a version that is not there", { targetRevision: "9.0.0" }, /^ChartNotFound/],
    ["a chart that is not there", { chart: "nope", targetRevision: "1.0.0" }, /^ChartNotFound/],
    ["a chart named like a path", { chart: "../../etc" }, /^SourceRefused/],
    [
      "a values file above the chart",
      { targetRevision: "1.0.0", helm: { valueFiles: ["../../etc/passwd"] } },
      /^PathEscapesRepository/,
    ],
  ])("%s", async (_, source, want) => {
    const got = await names(asked(source));
    if (want instanceof RegExp) expect(got).toMatch(want);
    else expect(got).toEqual(want);
  });
  test("a values file of the chart", async () => {
    const got = await service.render(asked({ targetRevision: "1.0.0", helm: { valueFiles: ["prod.yaml"] } }));
    expect(got.kind === "done" && got.value).toMatchObject({
      revision: "1.0.0",
      sourceType: "Helm",
      objects: [{ data: { v: "prod" } }],
    });
  });
  test("credentials that are wrong or missing", async () => {
    expect(await names(asked({ targetRevision: "1.0.1" }, { password: new Secret("canary") }))).toMatch(
      /^AuthenticationFailed: .* does not accept/,
    );
    expect(await names(asked({ targetRevision: "1.0.1" }, { username: undefined, password: undefined }))).toMatch(
      /^AuthenticationFailed: .* asks for/,
    );
  });
});

describe("Kustomize", () => {
  const files = {
    "base/kustomization.yaml": "resources: [d.yaml]\n",
    "base/d.yaml":
      "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {replicas: 1, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: 'reg:5000/app:1'}]}}}\n",
    "over/kustomization.yaml": "resources: [../base]\nnameSuffix: -old\n",
  };
  test("overrides", async () => {
    const name = await repository(files);
    const kustomize = {
      namePrefix: "p-",
      nameSuffix: "-s",
      namespace: "n",
      images: ["reg:5000/app=other/app:2"],
      replicas: [{ name: "d", count: 3 }],
      commonLabels: { l: "1" },
      commonAnnotations: { x: "y" },
      patches: [{ target: { kind: "Deployment" }, patch: '[{"op":"add","path":"/spec/paused","value":true}]' }],
    };
    const got = await service.render(request(name, { path: "over", kustomize }));
    expect(got.kind === "done" && got.value.objects).toMatchObject([
      {
        metadata: { name: "p-d-s", namespace: "n", labels: { l: "1" }, annotations: { x: "y" } },
        spec: { replicas: 3, paused: true, template: { spec: { containers: [{ image: "other/app:2" }] } } },
      },
    ]);
  });
  test("a commit in the base changes the key of the overlay", async () => {
    const name = await repository(files);
    const first = await service.render(request(name, { path: "over" }));
    await git.commit(name, { "base/d.yaml": files["base/d.yaml"].replace("replicas: 1", "replicas: 2") }, "base");
    const second = await service.render(request(name, { path: "over" }));
    expect(first.kind === "done" && second.kind === "done" && first.value.key !== second.value.key).toBe(true);
  });
});

test("what this version does not render is said by name", async () => {
  const name = await repository({ "a.yaml": cm("a") });
  expect(await names(request(name, { plugin: {} }))).toMatch(`${REPO.unsupported}:`);
});
