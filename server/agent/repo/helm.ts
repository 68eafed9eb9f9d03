import { existsSync } from "node:fs";
import { cp, writeFile } from "node:fs/promises";
import { join, posix } from "node:path";
import { again, done, type Outcome, stop } from "../../base/outcome.ts";
import { RUN_REASONS, run } from "../../base/run.ts";
import type { KubeObject } from "../kube/object.ts";
import type { Chart } from "./charts.ts";
import { extract, newBudget, toolEnv, withFolder } from "./extract.ts";
import { matchGlob } from "./glob.ts";
import { findTool } from "./tool.ts";
import { segments, type Tree } from "./tree.ts";
import { type HelmParameters, REPO } from "./types.ts";
import { parseManifests, parseYaml } from "./yaml.ts";

const DEADLINE_MS = 90_000;
const MAX_OUTPUT = 50_000_000;
const MAX_CHARTS = 50;

export interface HelmSource {
  inputs: { path: string; sha: string }[];
  /** Value files in the order of their effect, as paths from the root of the repository. */
  valueFiles: string[];
  files: { name: string; path: string }[];
}

interface HelmContext {
  app: string;
  namespace: string;
  kubeVersion?: string;
}

/** Everything in the repository a chart takes: its directory, `file://` dependencies, value files and parameter files. */
export async function helmInputs(tree: Tree, path: string, helm: HelmParameters): Promise<Outcome<HelmSource>> {
  const inputs = new Map<string, string>();
  const pending = [path];
  for (let chart = pending.pop(); chart !== undefined; chart = pending.pop()) {
    if (inputs.has(chart)) continue;
    if (inputs.size >= MAX_CHARTS) return stop(REPO.tooLarge, `chart ${path} reaches more than ${MAX_CHARTS} directories`);
    const found = await tree.find(chart);
    if (found.kind !== "done") return found;
    inputs.set(chart, found.value.sha);
    const local = await localDependencies(tree, chart);
    if (local.kind !== "done") return local;
    pending.push(...local.value);
  }
  const valueFiles: string[] = [];
  for (const given of helm.valueFiles ?? []) {
    const files = await expand(tree, path, given, helm.ignoreMissingValueFiles === true);
    if (files.kind !== "done") return files;
    for (const file of files.value) {
      inputs.set(file.path, file.sha);
      if (!valueFiles.includes(file.path)) valueFiles.push(file.path);
    }
  }
  const files: HelmSource["files"] = [];
  for (const parameter of helm.fileParameters ?? []) {
    const file = await inRepository(tree, path, parameter.path, "file parameter");
    if (file.kind !== "done") return file;
    inputs.set(file.value.path, file.value.sha);
    files.push({ name: parameter.name, path: file.value.path });
  }
  return done({ inputs: [...inputs].map(([p, sha]) => ({ path: p, sha })).sort((a, b) => (a.path < b.path ? -1 : 1)), valueFiles, files });
}

async function localDependencies(tree: Tree, chart: string): Promise<Outcome<string[]>> {
  const found = await tree.find(posix.join(chart, "Chart.yaml"));
  if (found.kind !== "done")
    return found.reason === REPO.path ? stop(REPO.chartNotFound, `${chart || "the root"} has no Chart.yaml`) : found;
  const blob = await tree.blob(found.value.sha, "Chart.yaml", 1_000_000);
  if (blob.kind !== "done") return blob;
  const parsed = parseYaml(blob.value.toString("utf8"), posix.join(chart, "Chart.yaml"));
  if (parsed.kind !== "done") return parsed;
  const { dependencies, name } = parsed.value as { name?: unknown; dependencies?: { repository?: unknown }[] };
  if (typeof name !== "string" || !/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name))
    return stop(REPO.refused, `${chart}/Chart.yaml: the chart's name is not a file name`);
  const local: string[] = [];
  for (const dependency of Array.isArray(dependencies) ? dependencies : []) {
    const repository = dependency?.repository;
    if (typeof repository !== "string" || !repository.startsWith("file://")) continue;
    const target = posix.normalize(posix.join(chart || ".", repository.slice("file://".length)));
    if (target.startsWith("../") || target === ".." || repository.startsWith("file:///")) {
      return stop(REPO.escape, `${chart}/Chart.yaml: dependency ${repository} leads out of the repository`);
    }
    local.push(target === "." ? "" : target);
  }
  return done(local);
}

/** A value file, or the files a glob means in lexical order; a leading slash is the root of the repository. */
async function expand(tree: Tree, chart: string, given: string, ignoreMissing: boolean): Promise<Outcome<{ path: string; sha: string }[]>> {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(given))
    return stop(REPO.unsupported, `values file ${given}: remote value files are not fetched by this version`);
  if (given.startsWith("$"))
    return stop(REPO.unsupported, `values file ${given}: references to other sources are not resolved by this version`);
  if (!/[*?[{]/.test(given)) {
    const file = await inRepository(tree, chart, given, "values file");
    if (file.kind === "done") return done([file.value]);
    return ignoreMissing && file.reason === REPO.path ? done([]) : file;
  }
  const pattern = given.startsWith("/") ? given.slice(1) : posix.join(chart, given);
  const fixed = segments(pattern).slice(
    0,
    segments(pattern).findIndex((part) => /[*?[{]/.test(part)),
  );
  const found: { path: string; sha: string }[] = [];
  const walk = async (path: string, depth: number): Promise<Outcome<void>> => {
    const at = await tree.find(path);
    if (at.kind !== "done" || at.value.kind === "blob" || depth > 10)
      return at.kind === "done" || at.reason === REPO.path ? done(undefined) : at;
    const entries = await tree.list(at.value.sha);
    if (entries.kind !== "done") return entries;
    for (const entry of entries.value) {
      const inner = posix.join(path, entry.name);
      if (entry.kind === "blob" && matchPath(segments(pattern), segments(inner))) found.push({ path: inner, sha: entry.sha });
      if (entry.kind === "tree") {
        const walked = await walk(inner, depth + 1);
        if (walked.kind !== "done") return walked;
      }
    }
    return done(undefined);
  };
  const walked = await walk(fixed.join("/"), 0);
  if (walked.kind !== "done") return walked;
  if (!found.length && !ignoreMissing) return stop(REPO.path, `values file glob ${given} matched no files`);
  return done(found.sort((a, b) => (a.path < b.path ? -1 : 1)));
}

/** Globs of value files: a star stays inside one level, two cross any number. */
function matchPath(pattern: string[], path: string[]): boolean {
  const [first, ...rest] = pattern;
  if (first === undefined) return path.length === 0;
  if (first === "**") return matchPath(rest, path) || (path.length > 0 && matchPath(pattern, path.slice(1)));
  return path.length > 0 && matchGlob(first, path[0]!) && matchPath(rest, path.slice(1));
}

async function inRepository(tree: Tree, chart: string, given: string, what: string): Promise<Outcome<{ path: string; sha: string }>> {
  const path = given.startsWith("/") ? given.slice(1) : `${chart}/${given}`;
  const found = await tree.find(path);
  if (found.kind !== "done") return found.reason === REPO.path ? stop(REPO.path, `${what} ${given} is not in the repository`) : found;
  return found.value.kind === "blob" ? done(found.value) : stop(REPO.path, `${what} ${given} is a directory`);
}

/** Renders a chart with `helm template` in a private folder; flags in Argo CD's order, so that precedence is the same. */
export async function renderHelm(
  tree: Tree,
  path: string,
  source: HelmSource,
  helm: HelmParameters,
  context: HelmContext,
): Promise<Outcome<KubeObject[]>> {
  return withFolder(async (folder) => {
    const budget = newBudget();
    for (const input of source.inputs) {
      const written = await extract(tree, input.path, folder, budget);
      if (written.kind !== "done") return written;
    }
    return helmTemplate(folder, join(folder, path), source, helm, context);
  });
}

/** Renders a chart of a chart repository; its value files are its own. */
export async function renderChart(chart: Chart, helm: HelmParameters, context: HelmContext): Promise<Outcome<KubeObject[]>> {
  const own = (path: string) => posix.normalize(posix.join("chart", path));
  const [valueFiles, files] = [
    (helm.valueFiles ?? []).map(own),
    (helm.fileParameters ?? []).map(({ name, path }) => ({ name, path: own(path) })),
  ];
  const outside = [...valueFiles, ...files.map((file) => file.path)].find((path) => !path.startsWith("chart/"));
  if (outside) return stop(REPO.escape, `values file ${outside} is outside the chart`);
  return withFolder(async (folder) => {
    await cp(chart.folder, join(folder, "chart"), { recursive: true });
    const here = valueFiles.filter((path) => existsSync(join(folder, path)));
    const missing = valueFiles.find((path) => !here.includes(path));
    if (missing && !helm.ignoreMissingValueFiles)
      return stop(REPO.path, `values file ${missing.slice("chart/".length)} is not in the chart`);
    return helmTemplate(folder, join(folder, "chart"), { valueFiles: here, files }, helm, context);
  });
}

/** The same for a chart that is already on disk (`chart`), with value files below `folder`. */
async function helmTemplate(
  folder: string,
  chart: string,
  source: Omit<HelmSource, "inputs">,
  helm: HelmParameters,
  context: HelmContext,
): Promise<Outcome<KubeObject[]>> {
  const args = await templateArgs(folder, source, helm, context);
  const ran = await run(findTool("helm"), {
    args: ["template", chart, ...args],
    cwd: chart,
    env: { ...toolEnv(folder), HELM_PLUGINS: "/nonexistent" },
    deadlineMs: DEADLINE_MS,
    maxBytes: MAX_OUTPUT,
  });
  const name = chart.slice(folder.length + 1) || "chart";
  if (ran.kind !== "done") {
    if (ran.reason === RUN_REASONS.missing) return stop(REPO.tool, ran.message);
    return ran.kind === "again" ? again(REPO.chart, ran.message) : stop(REPO.chart, ran.message);
  }
  if (ran.value.code !== 0) {
    const why = ran.value.stderr
      .replaceAll(`${folder}/`, "")
      .replace(/\n?Use --debug flag.*/s, "")
      .trim()
      .slice(0, 2_000);
    const missing = /found in Chart.yaml, but missing in charts\//.test(why);
    return stop(
      REPO.chart,
      `chart ${name} does not render: ${why}${missing ? "; run `helm dependency update` and commit the charts/ directory" : ""}`,
    );
  }
  return parseManifests(ran.value.stdout.toString("utf8"), `helm output of ${name}`);
}

async function templateArgs(
  folder: string,
  source: Omit<HelmSource, "inputs">,
  helm: HelmParameters,
  context: HelmContext,
): Promise<string[]> {
  // Helm takes names up to 53 characters.
  const args = ["--name-template", (helm.releaseName || context.app).slice(0, 53)];
  const namespace = helm.namespace || context.namespace;
  if (namespace) args.push("--namespace", namespace);
  const kubeVersion = helm.kubeVersion || context.kubeVersion;
  if (kubeVersion) args.push("--kube-version", kubeVersion);
  for (const { name, value = "", forceString } of helm.parameters ?? [])
    args.push(forceString ? "--set-string" : "--set", `${name}=${escapeSet(value)}`);
  for (const { name, path } of source.files) args.push("--set-file", `${name}=${escapeSet(join(folder, path))}`);
  for (const path of source.valueFiles) args.push("--values", join(folder, path));
  const inline = [helm.values, helm.valuesObject && JSON.stringify(helm.valuesObject)].filter((text): text is string => Boolean(text));
  // valuesObject takes the place of values when both are there.
  const values = inline.at(-1);
  if (values) {
    const path = join(folder, ".values.yaml");
    await writeFile(path, values, { mode: 0o600 });
    args.push("--values", path);
  }
  for (const version of helm.apiVersions ?? []) args.push("--api-versions", version);
  if (!helm.skipCrds) args.push("--include-crds");
  if (helm.skipSchemaValidation) args.push("--skip-schema-validation");
  if (helm.skipTests) args.push("--skip-tests");
  return args;
}

/** Commas separate parameters unless they are inside a `{list}` or already escaped. */
export function escapeSet(value: string): string {
  if (value.startsWith("{") && value.endsWith("}")) return value;
  return value.replace(/(?<!\\),/g, "\\,");
}
