import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Bench, configMap, startBench } from "../../server/agent/repo/testing.ts";
import type { Source } from "../../server/agent/repo/types.ts";
import type { Change } from "../servers/git.ts";
import { type Probe, startProbe, withinMemory } from "./render.ts";

let bench: Bench;
let probe: Probe;
const work = mkdtempSync(join(tmpdir(), "abuse-overlays-"));
const escaped = join(work, "escaped");
beforeAll(async () => {
  bench = await startBench();
  probe = await startProbe(bench.service);
});
afterAll(async () => {
  console.log(`worst of all overlays: ${Math.round(probe.worst().childMiB)} MiB, ${probe.worst().ms} ms`);
  await probe.stop();
  await bench.stop();
  rmSync(work, { recursive: true, force: true });
});

const ok = { "a.yaml": configMap("a") };
const nine = "123456789".split("");
const bomb = `a0: &a0 [${nine}]\n${nine.map((n, i) => `a${n}: &a${n} [${nine.map(() => `*a${i}`)}]`).join("\n")}\n`;
const kustomization = (text: string, more: Record<string, Change> = {}) => ({
  "kustomization.yaml": text,
  ...ok,
  ...more,
});
const jsonnet = (text: string, more: Record<string, Change> = {}) => ({ "x.jsonnet": text, ...more });
const fn = (annotation: string) =>
  `apiVersion: x/v1\nkind: X\nmetadata:\n  name: x\n  annotations:\n    config.kubernetes.io/function: |\n      ${annotation}\n`;

type Case = [string, () => Record<string, Change>, Partial<Source>, RegExp];
const kustomize: Case[] = [
  ...[
    "https://github.com/a/b",
    "http://127.0.0.1:1/x.yaml",
    "git@github.com:a/b",
    "git::https://x/y",
    "github.com/a/b//c?ref=main",
    "ssh://git@x/y",
    "file:///etc",
    "oci://x/y",
    "../x//y?ref=1",
    "org-1@github.com:a/b.git",
  ].map(
    (base): Case => [
      `base ${base}`,
      () => kustomization(`resources: [${JSON.stringify(base)}]\n`),
      {},
      /^SourceRefused.*remote base/,
    ],
  ),
  ["a base from here", () => kustomization(`resources: ["${probe.url}/x.yaml"]\n`), {}, /^SourceRefused.*remote base/],
  ["a component from here", () => kustomization(`components: ["${probe.url}/x"]\n`), {}, /^SourceRefused.*remote base/],
  ["an old base from here", () => kustomization(`bases: ["${probe.url}/x"]\n`), {}, /^SourceRefused.*remote base/],
  ["a base of this machine", () => kustomization("resources: [/etc]\n"), {}, /^PathEscapesRepository/],
  ["a base above", () => kustomization("resources: [../../..]\n"), {}, /^PathEscapesRepository/],
  ["a component above", () => kustomization("components: [../x]\n"), {}, /^PathEscapesRepository/],
  ["itself", () => kustomization("resources: [.]\n"), {}, /^KustomizeFailed/],
  [
    "a patch from here",
    () => kustomization(`resources: [a.yaml]\npatches: [{path: "${probe.url}/p"}]\n`),
    {},
    /^SourceRefused.*remote file/,
  ],
  [
    "a patch of this machine",
    () => kustomization("resources: [a.yaml]\npatches: [{path: /etc/passwd}]\n"),
    {},
    /^KustomizeFailed/,
  ],
  ["CRDs from here", () => kustomization(`crds: ["${probe.url}/c"]\n`), {}, /^SourceRefused.*remote file/],
  ["a schema from here", () => kustomization(`openapi: {path: "${probe.url}/o"}\n`), {}, /^SourceRefused.*remote file/],
  [
    "a replacement from here",
    () => kustomization(`replacements: [{path: "${probe.url}/r"}]\n`),
    {},
    /^SourceRefused.*remote file/,
  ],
  [
    "a file of this machine in a Secret",
    () => kustomization("secretGenerator: [{name: s, files: [/etc/passwd]}]\n"),
    {},
    /^KustomizeFailed/,
  ],
  [
    "a file above in a Secret",
    () => kustomization("secretGenerator: [{name: s, files: [../../../../etc/passwd]}]\n"),
    {},
    /^KustomizeFailed/,
  ],
  [
    "variables of this machine",
    () => kustomization("configMapGenerator: [{name: s, envs: [/proc/self/environ]}]\n"),
    {},
    /^KustomizeFailed/,
  ],
  [
    "the environment",
    () =>
      kustomization("configMapGenerator: [{name: s, literals: [OUTPOST_CANARY], env: e}]\n", {
        e: "OUTPOST_CANARY\nHOME\n",
      }),
    {},
    /^(KustomizeFailed|s-)/,
  ],
  [
    "a file from here in a ConfigMap",
    () => kustomization(`configMapGenerator: [{name: s, files: ["k=${probe.url}/f"]}]\n`),
    {},
    /^SourceRefused/,
  ],
  ["a chart", () => kustomization(`helmCharts: [{name: x, repo: "${probe.url}"}]\n`), {}, /^SourceRefused.*helmCharts/],
  [
    "a program as generator",
    () =>
      kustomization("generators: [g.yaml]\n", {
        "g.yaml": fn("exec: {path: ./run.sh}"),
        "run.sh": { exec: `#!/bin/sh\ntouch ${escaped}\n` },
      }),
    {},
    /^KustomizeFailed/,
  ],
  [
    "a program in the list of generators",
    () =>
      kustomization(`generators:\n- |\n${fn("exec: {path: ./run.sh}").replace(/^/gm, "  ")}\n`, {
        "run.sh": { exec: `#!/bin/sh\ntouch ${escaped}\n` },
      }),
    {},
    /^(SourceRefused|KustomizeFailed)/,
  ],
  [
    "a container as transformer",
    () =>
      kustomization("resources: [a.yaml]\ntransformers: [t.yaml]\n", {
        "t.yaml": fn("container: {image: evil, network: true}"),
      }),
    {},
    /^KustomizeFailed/,
  ],
  [
    "a program as validator",
    () => kustomization("resources: [a.yaml]\nvalidators: [v.yaml]\n", { "v.yaml": fn("starlark: {path: v.star}") }),
    {},
    /^KustomizeFailed/,
  ],
  [
    "a plugin by its name",
    () =>
      kustomization("generators: [g.yaml]\n", {
        "g.yaml": "apiVersion: someteam.example.com/v1\nkind: Evil\nmetadata: {name: x}\n",
      }),
    {},
    /^KustomizeFailed/,
  ],
  [
    "two kustomizations",
    () => kustomization("resources: [a.yaml]\n", { "kustomization.yml": "resources: []\n" }),
    {},
    /^KustomizeFailed/,
  ],
  ["a kustomization that multiplies", () => kustomization(bomb), {}, /^ManifestInvalid/],
  [
    "300 bases",
    () =>
      Object.fromEntries([
        ["kustomization.yaml", `resources: [${Array.from({ length: 300 }, (_, i) => `b${i}`)}]\n`],
        ...Array.from({ length: 300 }, (_, i) => [`b${i}/kustomization.yaml`, "{}\n"]),
      ]),
    {},
    /^SourceTooLarge/,
  ],
];
const programs: Case[] = [
  ["an import of this machine", () => jsonnet("import '/etc/passwd'"), {}, /^PathEscapesRepository/],
  ["a text of this machine", () => jsonnet("importstr '/proc/self/environ'"), {}, /^PathEscapesRepository/],
  ["bytes of this machine", () => jsonnet(String.raw`importbin "\u002fetc\u002fpasswd"`), {}, /^PathEscapesRepository/],
  ["an import behind a comment", () => jsonnet("import /* \" */ // '\n @'/etc/passwd'"), {}, /^PathEscapesRepository/],
  ["an import above", () => jsonnet("importstr '../../../../etc/passwd'"), {}, /^PathEscapesRepository/],
  [
    "an import of an import above",
    () => jsonnet("import 'd/y.libsonnet'", { "d/y.libsonnet": "importstr '../../../etc/passwd'" }),
    {},
    /^PathEscapesRepository/,
  ],
  [
    "an import that is a link out",
    () => jsonnet("importstr 'p'", { p: { link: "/etc/passwd" } }),
    {},
    /^PathEscapesRepository/,
  ],
  [
    "a variable that imports",
    () => jsonnet("std.extVar('x')"),
    { directory: { jsonnet: { extVars: [{ name: "x", value: "importstr '/etc/passwd'", code: true }] } } },
    /^PathEscapesRepository/,
  ],
  [
    "a variable like an option",
    () => jsonnet(`{apiVersion:'v1',kind:'X',metadata:{name:std.extVar('--ext-code-file')}}`),
    { directory: { jsonnet: { extVars: [{ name: "--ext-code-file", value: "x" }] } } },
    /^x$/,
  ],
  [
    "a variable without a name",
    () => jsonnet("{}"),
    { directory: { jsonnet: { tlas: [{ name: "a=b", value: "x" }] } } },
    /^JsonnetFailed/,
  ],
  ["a library above", () => jsonnet("{}"), { directory: { jsonnet: { libs: ["../.."] } } }, /^PathEscapesRepository/],
  ["a function without end", () => jsonnet("local f(x) = f(x + 1); f(0)"), {}, /^(JsonnetFailed|SourceTooLarge)/],
  [
    "an array of a billion",
    () => jsonnet("std.foldl(function(a, b) a + b, std.makeArray(1000000000, function(i) i), 0)"),
    {},
    /^(SourceTooLarge|JsonnetFailed)/,
  ],
  ["a text of a gigabyte", () => jsonnet("std.repeat('x', 1000000000)"), {}, /^(SourceTooLarge|JsonnetFailed)/],
  ["a native function", () => jsonnet("std.native('exec')('id')"), {}, /^JsonnetFailed/],
  ["a number", () => jsonnet("1"), {}, /^ManifestInvalid/],
  ["a list of numbers", () => jsonnet("[1]"), {}, /^ManifestInvalid/],
];
const cases = [...kustomize, ...programs];

test.each(cases)(
  "a hostile overlay or program does nothing: %s",
  async (_, files, source, want) => {
    const name = await bench.repository(files());
    expect(await probe.outcome(bench.request(name, source))).toMatch(want);
    expect(existsSync(escaped)).toBe(false);
  },
  40_000,
);

test("none took more memory than a renderer may have", () => expect(withinMemory(probe.worst())).toBe(true));
