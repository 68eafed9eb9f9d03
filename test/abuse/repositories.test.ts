import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deflateSync } from "node:zlib";
import { type Bench, configMap, startBench } from "../../server/agent/repo/testing.ts";
import type { RepoAccess, Source } from "../../server/agent/repo/types.ts";
import type { Change } from "../servers/git.ts";
import { CANARY, type Probe, startProbe, withinMemory } from "./render.ts";

let bench: Bench;
let probe: Probe;
const work = mkdtempSync(join(tmpdir(), "abuse-repos-"));
const escaped = join(work, "escaped");
writeFileSync(join(work, "secret.yaml"), `${configMap(CANARY)}`);
beforeAll(async () => {
  bench = await startBench();
  probe = await startProbe(bench.service);
});
afterAll(async () => {
  console.log(`worst of all repositories: ${Math.round(probe.worst().childMiB)} MiB, ${probe.worst().ms} ms`);
  await probe.stop();
  await bench.stop();
  rmSync(work, { recursive: true, force: true });
});

const ok = { "a.yaml": configMap("a") };
const nine = "123456789".split("");
const bomb = `a0: &a0 [${nine}]\n${nine.map((n, i) => `a${n}: &a${n} [${nine.map(() => `*a${i}`)}]`).join("\n")}\n`;
const meta = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
type Case = [string, () => Record<string, Change>, Partial<Source>, RegExp];
const links: Case[] = [
  ["a link to a file of this machine", () => ({ "a.yaml": { link: "/etc/passwd" } }), {}, /^PathEscapesRepository/],
  [
    "a link to a secret of this machine",
    () => ({ "a.yaml": { link: `${work}/secret.yaml` } }),
    {},
    /^PathEscapesRepository/,
  ],
  ["a link above the root", () => ({ "a.yaml": { link: "../../../../../etc/passwd" } }), {}, /^PathEscapesRepository/],
  ["a link to the process", () => ({ "a.yaml": { link: "/proc/self/environ" } }), {}, /^PathEscapesRepository/],
  [
    "a link above by way of a folder",
    () => ({ "d/e/a.yaml": { link: "../../../x.yaml" } }),
    { path: "d/e" },
    /^PathEscapesRepository/,
  ],
  [
    "links that lead out together",
    () => ({ "a.yaml": { link: "b" }, b: { link: "c" }, c: { link: "../x" } }),
    {},
    /^PathEscapesRepository/,
  ],
  ["a link nobody reads", () => ({ ...ok, "notes.txt": { link: "/etc/passwd" } }), {}, /^PathEscapesRepository/],
  ["a folder that is a link out", () => ({ d: { link: "/etc" } }), { path: "d" }, /^PathEscapesRepository/],
  ["a path through a link out", () => ({ d: { link: ".." } }), { path: "d/d/d" }, /^PathEscapesRepository/],
  [
    "links in a circle",
    () => ({ "a.yaml": { link: "b.yaml" }, "b.yaml": { link: "a.yaml" } }),
    {},
    /^SourceRefused.*too many links/,
  ],
  ["a link to itself", () => ({ d: { link: "d" } }), { path: "d" }, /^SourceRefused.*too many links/],
  [
    "a link to its own folder, all levels",
    () => ({ ...ok, "d/loop": { link: ".." } }),
    { directory: { recurse: true } },
    /^a$/,
  ],
  [
    "a chain of 60 links",
    () => Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`l${i}`, { link: `l${i + 1}` }])),
    { path: "l0" },
    /^SourceRefused.*too many links/,
  ],
  ["a link to what is not there", () => ({ "a.yaml": { link: "nope.yaml" } }), {}, /^$/],
  [
    "settings that are a link out",
    () => ({ ...ok, ".argocd-source.yaml": { link: "/etc/passwd" } }),
    {},
    /^PathEscapesRepository/,
  ],
  [
    "a kustomization that is a link out",
    () => ({ "kustomization.yaml": { link: "/etc/passwd" } }),
    {},
    /^PathEscapesRepository/,
  ],
  [
    "a resource that is a link out",
    () => ({ "kustomization.yaml": "resources: [b.yaml]\n", "b.yaml": { link: `${work}/secret.yaml` } }),
    {},
    /^PathEscapesRepository/,
  ],
];
/** A text with a NUL is refused before anything is looked up. */
const isText = (value: string): boolean => !value.includes("\u0000");
const NO_TEXT = /^ManifestInvalid: source\.\w+ must be a text/;
const paths: Case[] = [
  ...["..", "../../etc", "a/../../b", "./../x", "../../../../../../proc/self", "/etc", "//etc/passwd"].map(
    (path): Case => [`path ${path}`, () => ok, { path }, /^PathEscapesRepository/],
  ),
  ...[".git", ".git/config", "a\u0000b", "-c", "x".repeat(5_000), "d/".repeat(5_000)].map(
    (path): Case => [
      `path ${JSON.stringify(path.slice(0, 20))}`,
      () => ok,
      { path },
      isText(path) ? /^PathNotFound/ : NO_TEXT,
    ],
  ),
  ...[
    "--upload-pack=touch x",
    "-c",
    "../../x",
    "refs/heads/../../x",
    "a\nb",
    "main:a.yaml",
    "HEAD^{/x}",
    "@{-1}",
    ":/x",
    "x".repeat(10_000),
    "main\u0000",
    "*".repeat(300),
    `${"(".repeat(100)}1`,
  ].map(
    (targetRevision): Case => [
      `revision ${JSON.stringify(targetRevision.slice(0, 20))}`,
      () => ok,
      { targetRevision },
      isText(targetRevision) ? /^RevisionNotFound/ : NO_TEXT,
    ],
  ),
  ["a commit that is not there", () => ok, { targetRevision: "0123456789".repeat(4) }, /^RevisionNotFound/],
  ["an include that explodes", () => ok, { directory: { include: `${"*a".repeat(200)}b` } }, /^$/],
  ["an include of many sets", () => ok, { directory: { include: "{a,b}".repeat(40) } }, /^$/],
];
const content: Case[] = [
  ["a file of 11 MB", () => ({ "a.yaml": `${meta}# ${"x".repeat(11_000_000)}` }), {}, /^SourceTooLarge/],
  [
    "files of 12 MB together",
    () => Object.fromEntries(nine.slice(0, 3).map((n) => [`${n}.yaml`, `${meta}# ${"x".repeat(4_000_000)}`])),
    {},
    /^SourceTooLarge/,
  ],
  [
    "21,000 files",
    () => Object.fromEntries(Array.from({ length: 21_000 }, (_, i) => [`d/f${i}.yaml`, ""])),
    { path: "d" },
    /^SourceTooLarge/,
  ],
  ["40 levels", () => ({ [`${"d/".repeat(40)}a.yaml`]: meta }), { directory: { recurse: true } }, /^SourceTooLarge/],
  ["YAML that multiplies", () => ({ "a.yaml": meta + bomb }), {}, /^ManifestInvalid/],
  ["YAML that multiplies by merging", () => ({ "a.yaml": `${meta}x: &x {<<: *x}\n` }), {}, /^ManifestInvalid/],
  ["YAML 50,000 deep", () => ({ "a.yaml": `${meta}x: ${"[".repeat(50_000)}\n` }), {}, /^ManifestInvalid/],
  [
    "YAML 5,000 deep by lines",
    () => ({
      "a.yaml": `${meta}x:\n${Array.from({ length: 2_000 }, (_, i) => `${" ".repeat(i + 1)}k:`).join("\n")}\n`,
    }),
    {},
    /^(ManifestInvalid|a$)/,
  ],
  ["JSON 100,000 deep", () => ({ "a.json": `${"[".repeat(100_000)}${"]".repeat(100_000)}` }), {}, /^ManifestInvalid/],
  ["30,000 documents", () => ({ "a.yaml": `---\n${meta}`.repeat(30_000) }), {}, /^ManifestInvalid.*20000 documents/],
  [
    "tags of another language",
    () => ({ "a.yaml": `${meta}x: !!js/function "() => process.exit()"\ny: !!python/object:os.system [id]\n` }),
    {},
    /^(a|ManifestInvalid)/,
  ],
  [
    "a member named __proto__",
    () => ({ "a.json": '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"__proto__":{"admin":true}}' }),
    {},
    /^a$/,
  ],
  [
    "labels that are numbers",
    () => ({ "a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {x: 1}}\n" }),
    {},
    /^ManifestInvalid.*quotes/,
  ],
  [
    "annotations that are a list",
    () => ({ "a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: [1]}\n" }),
    {},
    /^ManifestInvalid/,
  ],
  [
    "metadata that is a text",
    () => ({ "a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: x\n" }),
    {},
    /^ManifestInvalid/,
  ],
  [
    "a name that is an object",
    () => ({ "a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {a: 1}}\n" }),
    {},
    /^ManifestInvalid/,
  ],
  ["bytes that are no text", () => ({ "a.yaml": Buffer.from([0x61, 0x70, 0xff, 0xfe, 0, 0xc3, 0x28]) }), {}, /^$/],
  [
    "attributes with a filter",
    () => ({
      ...ok,
      ".gitattributes": "* filter=evil\n",
      ".gitconfig": `[filter "evil"]\n\tsmudge = touch ${escaped}\n`,
    }),
    {},
    /^a$/,
  ],
  [
    "a pointer to LFS elsewhere",
    () => ({
      ...ok,
      ".lfsconfig": `[lfs]\n\turl = ${probe.url}\n`,
      "b.bin": `version https://git-lfs.github.com/spec/v1\noid sha256:${"0".repeat(64)}\nsize 1\n`,
    }),
    {},
    /^a$/,
  ],
  ["hooks", () => ({ ...ok, "hooks/post-checkout": { exec: `#!/bin/sh\ntouch ${escaped}\n` } }), {}, /^a$/],
  [
    "modules with a command",
    () => ({
      ...ok,
      ".gitmodules": `[submodule "x"]\n\tpath = x\n\turl = ext::sh -c touch% ${escaped}\n\tupdate = !touch ${escaped}\n`,
    }),
    { directory: { recurse: true } },
    /^a$/,
  ],
  ["settings that multiply", () => ({ ...ok, ".argocd-source.yaml": bomb }), {}, /^ManifestInvalid/],
  ["settings that are a list", () => ({ ...ok, ".argocd-source.yaml": "[1]\n" }), {}, /^ManifestInvalid/],
  [
    "settings that want another repository",
    () => ({ ...ok, ".argocd-source.yaml": `repoURL: ${probe.url}\npath: ..\ntargetRevision: x\nchart: x\n` }),
    {},
    /^a$/,
  ],
];
const below = "1".repeat(40);
const module = (url: string, more = "", path = "m") => ({
  ...ok,
  ".gitmodules": `[submodule "m"]\n\tpath = ${path}\n\turl = ${url}\n${more}`,
  m: { module: below },
});
// Where the repository may have submodules and Git LFS: what they say is checked, and no forbidden host is asked.
const allowed: Case[] = [
  ["a module by a command", () => module(`ext::sh -c touch% ${escaped}`), {}, /^RepositoryUrlRefused: submodule m/],
  ["a module by a helper", () => module("fd::17"), {}, /^RepositoryUrlRefused/],
  ["a module in a file", () => module(`file://${work}`), {}, /^RepositoryUrlRefused/],
  ["a module in a folder of this machine", () => module(work), {}, /^RepositoryUrlRefused/],
  ["a module that is an argument", () => module("--upload-pack=id"), {}, /^RepositoryUrlRefused/],
  ["a module whose host is an argument", () => module("ssh://-oProxyCommand=id/x"), {}, /^RepositoryUrlRefused/],
  ["a module at a cloud's metadata", () => module("http://169.254.169.254/x"), {}, /^RepositoryUrlRefused/],
  ["a module on another host", () => module(`${probe.url}/x.git`), {}, /^RepositoryUrlRefused.*another host/],
  ["a module above its host", () => module("../../../../../etc"), {}, /^RepositoryUrlRefused.*above/],
  [
    "a module that updates by a command",
    () => module("../x.git", `\tupdate = !touch ${escaped}\n`),
    {},
    /^SourceRefused.*command/,
  ],
  ["a module's path above", () => module("../x.git", "", "../../m"), {}, /^SourceRefused/],
  ["a module's path in .git", () => module("../x.git", "", ".git/hooks"), {}, /^SourceRefused/],
  [
    "a module's name above (CVE-2018-11235)",
    () => ({ ...module("../x.git"), ".gitmodules": '[submodule "../../x"]\n\tpath = m\n\turl = ../x.git\n' }),
    {},
    /^SourceRefused/,
  ],
  [
    "a module below a link (CVE-2024-32002)",
    () => ({ ...module("../x.git", "", "l/m"), l: { link: ".git" } }),
    {},
    /^(SourceRefused|PathEscapes)/,
  ],
  ["a module's path with a line's end (CVE-2025-48384)", () => module("../x.git", "", '"m\r"'), {}, /^SourceRefused/],
  [
    "modules that include a file",
    () => module("../x.git", "[include]\n\tpath = /etc/passwd\n"),
    {},
    /^(RevisionNotFound|Repository)/,
  ],
  ["modules of 200 kB", () => module("../x.git", `# ${"x".repeat(200_000)}\n`), {}, /^SourceTooLarge/],
  [
    "a pointer to LFS of a terabyte",
    () => ({
      "a.yaml": `version https://git-lfs.github.com/spec/v1\noid sha256:${"0".repeat(64)}\nsize 1000000000000\n`,
    }),
    {},
    /^SourceTooLarge/,
  ],
  [
    "a pointer to LFS that the host does not have, and settings that lead elsewhere",
    () => ({
      ".lfsconfig": `[lfs]\n\turl = ${probe.url}\n`,
      "a.yaml": `version https://git-lfs.github.com/spec/v1\noid sha256:${"0".repeat(64)}\nsize 1\n`,
    }),
    {},
    /^Repository/,
  ],
  [
    "a pointer to LFS with another's words",
    () => ({ ...ok, "b.yaml": "version https://git-lfs.github.com/spec/v1\next-0-x sha256:0\n" }),
    {},
    /./,
  ],
];
const cases = [...links, ...paths, ...content, ...allowed];

test(`there are ${cases.length} hostile repositories, at least 60`, () =>
  expect(cases.length).toBeGreaterThanOrEqual(60));

test.each(cases)(
  "a hostile repository does nothing: %s",
  async (_, files, source, want) => {
    const name = await bench.repository(files());
    const asked = bench.request(name, source);
    if (allowed.some((one) => one[1] === files))
      Object.assign(asked.sources[0]!.repo, { enableLfs: true, submodules: true });
    expect(await probe.outcome(asked)).toMatch(want);
    expect(existsSync(escaped)).toBe(false);
  },
  40_000,
);

test.each<[string, Partial<RepoAccess>, RegExp]>([
  ...[
    "ext::sh -c touch% /tmp/x",
    "file:///etc",
    "/etc",
    "fd::17",
    "git://example.invalid/x",
    "-oProxyCommand=id",
    "ssh://-oProxyCommand=id/x",
    "git@-oProxyCommand=id:x",
    "http://169.254.169.254/x.git",
    "http://[::ffff:169.254.169.254]/x.git",
    "http://2852039166/x.git",
    "https://example.invalid/x\ny",
    "https://example.invalid/ x",
    "transport::x",
    "",
    "https://",
    "x".repeat(3_000),
  ].map((url): [string, Partial<RepoAccess>, RegExp] => [
    JSON.stringify(url.slice(0, 40)),
    { url },
    /^RepositoryUrlRefused/,
  ]),
  ["a chart at a cloud's metadata", { url: "http://169.254.169.254/charts", type: "helm" }, /^RepositoryUrlRefused/],
  ["a chart in a file", { url: "file:///etc", type: "helm" }, /^RepositoryUrlRefused/],
  ["an artifact at a cloud's metadata", { url: "oci://169.254.169.254/x/y" }, /^RepositoryUrlRefused/],
])("an address nobody may ask is refused: %s", async (_, repo, want) => {
  const source = { repoURL: repo.url!, path: ".", ...(repo.type === "helm" ? { chart: "x" } : {}) };
  expect(
    await probe.outcome({ ...bench.request("none", source), sources: [{ source, repo: repo as RepoAccess }] }),
  ).toMatch(want);
});

/** A commit with a tree that git itself would not make. */
async function raw(entries: [string, string, string][]): Promise<string> {
  const name = await bench.repository(ok);
  const { dir } = bench.git.repository(name);
  const put = (type: string, content: Buffer): string => {
    const whole = Buffer.concat([Buffer.from(`${type} ${content.length}\0`), content]);
    const sha = createHash("sha1").update(whole).digest("hex");
    mkdirSync(join(dir, "objects", sha.slice(0, 2)), { recursive: true });
    writeFileSync(join(dir, "objects", sha.slice(0, 2), sha.slice(2)), deflateSync(whole));
    return sha;
  };
  const inner = (text: string) => put("blob", Buffer.from(text));
  const tree = put(
    "tree",
    Buffer.concat(
      entries.flatMap(([mode, entry, text]) => {
        const folder = () =>
          put("tree", Buffer.concat([Buffer.from("100644 config\0"), Buffer.from(inner(text), "hex")]));
        const object = () => (mode === "40000" ? folder() : inner(text));
        const sha = mode === "160000" ? "1".repeat(40) : object();
        return [Buffer.from(`${mode} ${entry}\0`), Buffer.from(sha, "hex")];
      }),
    ),
  );
  const who = "x <x@example.com> 1700000000 +0000";
  const commit = put("commit", Buffer.from(`tree ${tree}\nauthor ${who}\ncommitter ${who}\n\nx\n`));
  writeFileSync(join(dir, "refs/heads/raw"), `${commit}\n`);
  return name;
}

test.each<[string, [string, string, string][], Partial<Source>, RegExp]>([
  ["a folder .git", [["40000", ".git", "x"]], {}, /^SourceRefused.*named/],
  ["a folder .GIT", [["40000", ".GIT", "x"]], {}, /^SourceRefused.*named/],
  ["a folder git~1", [["40000", "git~1", "x"]], {}, /^SourceRefused.*named/],
  ["a folder ..", [["40000", "..", "x"]], {}, /^SourceRefused.*named/],
  ["a file .", [["100644", ".", "x"]], {}, /^SourceRefused.*named/],
  ["a file with a slash", [["100644", "../../x.yaml", meta]], {}, /^SourceRefused.*named/],
  ["a module as the source", [["160000", "m", ""]], { path: "m" }, /^SourceUnsupported.*submodule/],
  ["a module named ..", [["160000", "..", ""]], {}, /^SourceRefused.*named/],
  ["a mode nobody knows", [["100000", "a.yaml", meta]], {}, /^a$/],
])("a tree that git would not make does nothing: %s", async (_, entries, source, want) => {
  const name = await raw(entries);
  expect(await probe.outcome(bench.request(name, { targetRevision: "raw", ...source }))).toMatch(want);
});

describe("a server that is not a Git server", () => {
  let server: Server;
  let answer: (to: ServerResponse) => void = () => {};
  beforeAll(async () => {
    server = createServer((_, to) => answer(to));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  });
  afterAll(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  const advertised = { "content-type": "application/x-git-upload-pack-advertisement" };
  const packet = (text: string) => (text.length + 4).toString(16).padStart(4, "0") + text;
  test.each<[string, (to: ServerResponse) => void, RegExp]>([
    [
      "refs without end",
      (to) => {
        to.writeHead(200, advertised).write(`${packet("# service=git-upload-pack\n")}0000`);
        let i = 0;
        const more = () => {
          let room = true;
          while (room && !to.destroyed)
            room = to.write(
              Array.from({ length: 500 }, () => packet(`${"a".repeat(40)} refs/heads/${"x".repeat(200)}${i++}\n`)).join(
                "",
              ),
            );
        };
        to.on("drain", more);
        more();
      },
      /^(SourceTooLarge|Repository)/,
    ],
    [
      "a page with status 200",
      (to) => to.writeHead(200, { "content-type": "text/html" }).end("<html>sign in</html>"),
      /^(Repository|RevisionNotFound)/,
    ],
    [
      "a redirect to a cloud's metadata",
      (to) => to.writeHead(302, { location: "http://169.254.169.254/x" }).end(),
      /^Repository/,
    ],
    ["a redirect to a file", (to) => to.writeHead(302, { location: "file:///etc/passwd" }).end(), /^Repository/],
    ["a length that lies", (to) => to.writeHead(200, advertised).end("ffff# service"), /^(Repository|NotARepository)/],
  ])(
    "%s",
    async (_, give, want) => {
      answer = give;
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/x.git`;
      const got = await bench.service.render(bench.request("none", { repoURL: url }));
      expect(got.kind === "done" ? "done" : got.reason).toMatch(want);
    },
    35_000,
  );
});

test("no repository took more memory than a renderer may have", () => expect(withinMemory(probe.worst())).toBe(true));
