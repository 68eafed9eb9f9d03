import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { type Bench, startBench } from "../../server/agent/repo/testing.ts";
import type { HelmParameters } from "../../server/agent/repo/types.ts";
import type { Change } from "../servers/git.ts";
import { CANARY, type Probe, startProbe, withinMemory } from "./render.ts";

let bench: Bench;
let probe: Probe;
const work = mkdtempSync(join(tmpdir(), "abuse-charts-"));
writeFileSync(join(work, "secret.yaml"), `v: ${CANARY}\n`);
beforeAll(async () => {
  bench = await startBench();
  probe = await startProbe(bench.service);
});
afterAll(async () => {
  console.log(`worst of all charts: ${Math.round(probe.worst().childMiB)} MiB, ${probe.worst().ms} ms`);
  await probe.stop();
  await bench.stop();
  rmSync(work, { recursive: true, force: true });
});

const HEAD = "apiVersion: v2\nname: c\nversion: 0.1.0\n";
const CM = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ok}\ndata: {v: "{{ .Values.v }}"}\n';
const base = { "Chart.yaml": HEAD, "templates/cm.yaml": CM, "values.yaml": "v: x\n" };
/** A ConfigMap that shows what an expression gives. */
const shows = (expression: string) => ({
  "templates/x.yaml": `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shown}\ndata: {x: {{ ${expression} | toString | quote }}}\n`,
});
const bomb = `a: &a [1,1,1,1,1,1,1,1,1]\n${"bcdefghij"
  .split("")
  .map((c, i) => `${c}: &${c} [${`*${"abcdefghi"[i]},`.repeat(9)}]`)
  .join("\n")}\n`;
const dependency = (fields: string) => ({ "Chart.yaml": `${HEAD}dependencies: [{${fields}}]\n` });

/** A packed chart, also of what helm would not pack. */
function packed(make: (folder: string) => string[]): Buffer {
  const folder = mkdtempSync(join(work, "tgz-"));
  const names = make(folder);
  execFileSync("tar", ["-P", "-czf", "out.tgz", ...names], { cwd: folder });
  return readFileSync(join(folder, "out.tgz"));
}
const subchart = (folder: string) => {
  mkdirSync(join(folder, "d/templates"), { recursive: true });
  writeFileSync(join(folder, "d/Chart.yaml"), "apiVersion: v2\nname: d\nversion: 1.0.0\n");
};

type Case = [string, () => Record<string, Change>, (() => HelmParameters) | undefined, RegExp];
const cases: Case[] = [
  // What templates can reach.
  ["the environment", () => shows('env "OUTPOST_CANARY"'), undefined, /^ChartRenderFailed.*function "env" not defined/],
  [
    "the environment in a text",
    () => shows('expandenv "$OUTPOST_CANARY"'),
    undefined,
    /^ChartRenderFailed.*"expandenv" not defined/,
  ],
  ["DNS", () => shows('getHostByName "example.com"'), undefined, /^ok,shown$/],
  ["the cluster", () => shows('lookup "v1" "Secret" "" ""'), undefined, /^ok,shown$/],
  ["a file above", () => shows('.Files.Get "../../../../etc/passwd"'), undefined, /^ok,shown$/],
  ["a file by its full path", () => shows('.Files.Get "/etc/passwd"'), undefined, /^ok,shown$/],
  ["files by a glob", () => shows('(.Files.Glob "../**").AsConfig'), undefined, /^ok,shown$/],
  [
    "a file that is a link out",
    () => ({ ...shows('.Files.Get "x"'), x: { link: "/etc/passwd" } }),
    undefined,
    /^PathEscapesRepository/,
  ],
  // Templates that do not end, or give too much.
  [
    "a template that includes itself",
    () => ({ "templates/_x.tpl": '{{ define "x" }}{{ include "x" . }}{{ end }}', ...shows('include "x" .') }),
    undefined,
    /^(ChartRenderFailed|SourceTooLarge)/,
  ],
  [
    "a template that evaluates itself",
    () => ({ "values.yaml": 'v: "{{ tpl .Values.v . }}"\n', ...shows("tpl .Values.v .") }),
    undefined,
    /^(ChartRenderFailed|SourceTooLarge)/,
  ],
  ["a text of a gigabyte", () => shows('repeat 1000000000 "x"'), undefined, /^SourceTooLarge/],
  ["a list of a billion", () => shows("untilStep 0 1000000000 1"), undefined, /^(SourceTooLarge|ChartRenderFailed)/],
  [
    "a loop in a loop",
    () => ({ "templates/x.yaml": "{{ range until 100000 }}{{ range until 100000 }}{{ end }}{{ end }}" }),
    undefined,
    /^SourceTooLarge/,
  ],
  [
    "500 copies of a megabyte",
    () => ({ "templates/x.yaml": `{{ range until 500 }}#{{ repeat 1000000 "x" }}\n{{ end }}` }),
    undefined,
    /^SourceTooLarge/,
  ],
  [
    "a regular expression that explodes",
    () => shows('regexMatch "^(a+)+$" (repeat 50000 "a")'),
    undefined,
    /^ok,shown$/,
  ],
  [
    "10,000 defines",
    () => ({ "templates/_x.tpl": Array.from({ length: 10_000 }, (_, i) => `{{ define "x${i}" }}{{ end }}`).join("") }),
    undefined,
    /^ok$/,
  ],
  [
    "brackets 2,000 deep",
    () => ({ "templates/x.yaml": `{{ ${"(".repeat(2_000)}1${")".repeat(2_000)} }}` }),
    undefined,
    /^(ok|ChartRenderFailed|SourceTooLarge)/,
  ],
  // YAML.
  ["values that multiply", () => ({ "values.yaml": bomb }), undefined, /^(ChartRenderFailed|SourceTooLarge)/],
  ["a Chart.yaml that multiplies", () => ({ "Chart.yaml": HEAD + bomb }), undefined, /^ManifestInvalid/],
  [
    "values 10,000 deep",
    () => ({ "values.yaml": `v: ${"[".repeat(10_000)}${"]".repeat(10_000)}\n` }),
    undefined,
    /^(ok|ChartRenderFailed|SourceTooLarge)/,
  ],
  [
    "output that multiplies",
    () => ({ "templates/x.yaml": `${CM}${bomb}` }),
    undefined,
    /^(ManifestInvalid|ChartRenderFailed)/,
  ],
  [
    "values of a value file that multiply",
    () => ({ "x.yaml": bomb }),
    () => ({ valueFiles: ["x.yaml"] }),
    /^(ChartRenderFailed|SourceTooLarge)/,
  ],
  ["values that are no YAML", () => ({}), () => ({ values: "a: [" }), /^ChartRenderFailed/],
  ["a Chart.yaml that is a list", () => ({ "Chart.yaml": "[1]\n" }), undefined, /^(ManifestInvalid|SourceRefused)/],
  [
    "a Chart.yaml of 2 MB",
    () => ({ "Chart.yaml": `${HEAD}# ${"x".repeat(2_000_000)}\n` }),
    undefined,
    /^SourceTooLarge/,
  ],
  // Schemas.
  [
    "a schema from elsewhere",
    () => ({ "values.schema.json": JSON.stringify({ $ref: `${probe.url}/schema.json` }) }),
    undefined,
    /^SourceRefused.*values\.schema\.json/,
  ],
  [
    "a schema deep inside from elsewhere",
    () => ({ "values.schema.json": JSON.stringify({ properties: { v: { allOf: [{ $ref: `${probe.url}/s` }] } } }) }),
    undefined,
    /^SourceRefused/,
  ],
  [
    "a schema whose $schema is elsewhere",
    () => ({ "values.schema.json": JSON.stringify({ $schema: `${probe.url}/s`, type: "object" }) }),
    undefined,
    /^SourceRefused/,
  ],
  [
    "a schema with an escaped key",
    () => ({ "values.schema.json": `{"\\u0024ref":"${probe.url}/s"}` }),
    undefined,
    /^SourceRefused/,
  ],
  [
    "a schema that is a file of this machine",
    () => ({ "values.schema.json": JSON.stringify({ $ref: `file://${work}/secret.yaml` }) }),
    undefined,
    /^SourceRefused/,
  ],
  [
    "a schema that is relative to nothing",
    () => ({ "values.schema.json": JSON.stringify({ $ref: "../../../etc/passwd" }) }),
    undefined,
    /^SourceRefused/,
  ],
  [
    "a schema of itself",
    () => ({ "values.schema.json": JSON.stringify({ $ref: "#" }) }),
    undefined,
    /^(ok|ChartRenderFailed|SourceTooLarge)/,
  ],
  [
    "a schema 20,000 deep",
    () => ({ "values.schema.json": `${'{"not":'.repeat(20_000)}{}${"}".repeat(20_000)}` }),
    undefined,
    /^(ChartRenderFailed|SourceTooLarge|SourceRefused)/,
  ],
  [
    "a subchart's schema from elsewhere",
    () => ({
      "charts/d/Chart.yaml": "apiVersion: v2\nname: d\nversion: 1.0.0\n",
      "charts/d/values.schema.json": JSON.stringify({ $ref: `${probe.url}/s` }),
    }),
    undefined,
    /^SourceRefused/,
  ],
  [
    "a packed subchart's schema from elsewhere",
    () => ({
      "charts/d-1.0.0.tgz": packed((folder) => {
        subchart(folder);
        writeFileSync(join(folder, "d/values.schema.json"), JSON.stringify({ $ref: `${probe.url}/s` }));
        return ["d"];
      }),
    }),
    undefined,
    /^SourceRefused/,
  ],
  // Names.
  ...["..", ".", "a/../../b", "-c", "c\u0000", " ", "/etc"].map(
    (name): Case => [
      `a chart named ${JSON.stringify(name)}`,
      () => ({ "Chart.yaml": `apiVersion: v2\nname: ${JSON.stringify(name)}\nversion: 0.1.0\n` }),
      undefined,
      /^(SourceRefused|ManifestInvalid)/,
    ],
  ),
  [
    "a version that is a path",
    () => ({ "Chart.yaml": "apiVersion: v2\nname: c\nversion: ../../x\n" }),
    undefined,
    /^ChartRenderFailed/,
  ],
  // Dependencies.
  [
    "a dependency named like a path",
    () => dependency('name: "../../x", version: "1", repository: "file://../x"'),
    undefined,
    /^SourceRefused/,
  ],
  [
    "a dependency of this machine",
    () => dependency('name: d, version: "1", repository: "file:///etc"'),
    undefined,
    /^PathEscapesRepository/,
  ],
  [
    "a dependency above",
    () => dependency('name: d, version: "1", repository: "file://../../../etc"'),
    undefined,
    /^PathEscapesRepository/,
  ],
  [
    "a dependency that is a link out",
    () => ({ ...dependency('name: d, version: "1", repository: "file://out"'), out: { link: "/etc" } }),
    undefined,
    /^PathEscapesRepository/,
  ],
  [
    "a dependency that is the chart itself",
    () => dependency('name: c, version: "0.1.0", repository: "file://."'),
    undefined,
    /^SourceRefused.*itself/,
  ],
  [
    "a dependency from elsewhere",
    () => dependency(`name: d, version: "1", repository: "${probe.url}"`),
    undefined,
    /^DependencyRefused/,
  ],
  [
    "a dependency of another protocol",
    () => dependency('name: d, version: "1", repository: "ext::sh -c id"'),
    undefined,
    /^DependencyRefused/,
  ],
  [
    "a dependency of a cloud's metadata",
    () => dependency('name: d, version: "1", repository: "http://169.254.169.254/x"'),
    undefined,
    /^DependencyRefused/,
  ],
  [
    "a dependency of an alias nobody has",
    () => dependency('name: d, version: "1", repository: "@nope"'),
    undefined,
    /^DependencyRefused/,
  ],
  [
    "60 dependencies",
    () => ({
      "Chart.yaml": `${HEAD}dependencies: [${Array.from({ length: 60 }, (_, i) => `{name: d${i}, version: "1", repository: "file://d"}`)}]\n`,
    }),
    undefined,
    /^SourceTooLarge/,
  ],
  ["charts/ that is a link out", () => ({ charts: { link: "/etc" } }), undefined, /^PathEscapesRepository/],
  [
    "a subchart that is a link to its parent",
    () => ({ "charts/c": { link: ".." } }),
    undefined,
    /^(SourceTooLarge|SourceRefused)/,
  ],
  [
    "a packed subchart with a path above",
    () => ({
      "charts/d-1.0.0.tgz": packed((folder) => {
        subchart(folder);
        writeFileSync(join(folder, "evil"), "x");
        return ["d", `--transform=s,^evil,d/../../../evil,`, "evil"];
      }),
    }),
    undefined,
    /^(ChartRenderFailed|SourceRefused|ok)/,
  ],
  [
    "a packed subchart with a link out",
    () => ({
      "charts/d-1.0.0.tgz": packed((folder) => {
        subchart(folder);
        symlinkSync("/etc/passwd", join(folder, "d/templates/p.yaml"));
        return ["d"];
      }),
    }),
    undefined,
    /^(ChartRenderFailed|SourceRefused|ok)/,
  ],
  [
    "a packed subchart that is a bomb",
    () => ({ "charts/d-1.0.0.tgz": gzipSync(Buffer.alloc(300_000_000)) }),
    undefined,
    /^(SourceTooLarge|SourceRefused)/,
  ],
  [
    "a packed subchart that is not an archive",
    () => ({ "charts/d-1.0.0.tgz": "nothing" }),
    undefined,
    /^(ChartRenderFailed|SourceRefused)/,
  ],
  // Arguments.
  [
    "a release name like an option",
    () => ({}),
    () => ({ releaseName: "--post-renderer=/bin/sh" }),
    /^ChartRenderFailed/,
  ],
  [
    "a namespace like an option",
    () => ({}),
    () => ({ namespace: "--kubeconfig=/etc/passwd" }),
    /^(ok|ChartRenderFailed)/,
  ],
  [
    "a Kubernetes version like an option",
    () => ({}),
    () => ({ kubeVersion: "--post-renderer=/bin/sh" }),
    /^ChartRenderFailed/,
  ],
  ["an API version like an option", () => ({}), () => ({ apiVersions: ["--post-renderer=/bin/sh"] }), /^ok$/],
  [
    "a parameter like an option",
    () => ({}),
    () => ({ parameters: [{ name: "--post-renderer", value: "/bin/sh" }] }),
    /^ok$/,
  ],
  [
    "a parameter at place 999,999,999",
    () => ({}),
    () => ({ parameters: [{ name: "a[999999999]", value: "1" }] }),
    /^ChartRenderFailed/,
  ],
  [
    "a parameter 200,000 deep",
    () => ({}),
    () => ({ parameters: [{ name: `a${".a".repeat(50_000)}`, value: "1" }] }),
    /^(ChartRenderFailed|ok|SourceTooLarge)/,
  ],
  ["a value file like an option", () => ({}), () => ({ valueFiles: ["--post-renderer"] }), /^PathNotFound/],
  ["a value file above", () => ({}), () => ({ valueFiles: ["../../../../etc/passwd"] }), /^PathEscapesRepository/],
  ["a value file by its full path", () => ({}), () => ({ valueFiles: ["/../etc/passwd"] }), /^PathEscapesRepository/],
  [
    "a value file of this machine",
    () => ({}),
    () => ({ valueFiles: [`file://${work}/secret.yaml`] }),
    /^RepositoryUrlRefused/,
  ],
  ["a value file from here", () => ({}), () => ({ valueFiles: [`${probe.url}/v.yaml`] }), /^RepositoryUrlRefused/],
  ["a value file by a glob above", () => ({}), () => ({ valueFiles: ["../../**/*.yaml"] }), /^PathEscapesRepository/],
  [
    "a glob of many stars",
    () => ({ "a/b/c/d/e/f.yaml": "v: 1\n" }),
    () => ({ valueFiles: [`${"**/".repeat(60)}nope.yaml`] }),
    /^PathNotFound/,
  ],
  [
    "a file parameter that is a link out",
    () => ({ p: { link: "/etc/passwd" } }),
    () => ({ fileParameters: [{ name: "v", path: "p" }] }),
    /^PathEscapesRepository/,
  ],
  [
    "a file parameter by its full path",
    () => ({}),
    () => ({ fileParameters: [{ name: "v", path: "/../../etc/passwd" }] }),
    /^PathEscapesRepository/,
  ],
  [
    "a file parameter from elsewhere",
    () => ({}),
    () => ({ fileParameters: [{ name: "v", path: "http://example.com/x" }] }),
    /^SourceRefused/,
  ],
  // Shapes.
  [
    "templates that are a link out",
    () => ({ "templates/p.yaml": { link: "../../../etc/passwd" } }),
    undefined,
    /^PathEscapesRepository/,
  ],
  [
    "21,000 templates",
    () => Object.fromEntries(Array.from({ length: 21_000 }, (_, i) => [`templates/t${i}.txt`, "x"])),
    undefined,
    /^SourceTooLarge/,
  ],
  [
    "an output that is not an object",
    () => ({ "templates/x.yaml": "- 1\n- 2\n" }),
    undefined,
    /^(ManifestInvalid|ChartRenderFailed)/,
  ],
];

test(`there are ${cases.length} poisoned charts, at least 40`, () => expect(cases.length).toBeGreaterThanOrEqual(40));

test.each(cases)(
  "a poisoned chart does nothing: %s",
  async (_, files, helm, want) => {
    const name = await bench.repository({ ...base, ...files() });
    expect(await probe.outcome(bench.request(name, { ...(helm ? { helm: helm() } : {}) }))).toMatch(want);
  },
  40_000,
);

test("no chart took more memory than a renderer may have", () => expect(withinMemory(probe.worst())).toBe(true));
