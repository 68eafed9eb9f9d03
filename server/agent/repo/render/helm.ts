import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join, posix } from "node:path";
import { digest } from "../../../base/json/canonical.ts";
import { done, type Outcome, stop } from "../../../base/outcome.ts";
import type { Secret } from "../../../base/secret.ts";
import type { KubeObject } from "../../../kube/object.ts";
import { parseManifests } from "../../../kube/yaml.ts";
import {
  type Dependency,
  type DependencySources,
  type FetchChart,
  missingDependencies,
} from "../charts/dependencies.ts";
import { openSubcharts } from "../charts/subcharts.ts";
import { type BuildEnv, expand } from "../files/env.ts";
import { extract, newBudget, withFolder } from "../files/extract.ts";
import { contentOf } from "../files/links.ts";
import { type HelmParameters, REPO } from "../types.ts";
import { runTool } from "./bounded.ts";
import { kubeVersionOf } from "./kube-version.ts";
import { type FetchValues, type HelmFiles, helmFiles, type Trees } from "./values.ts";

export interface HelmSource {
  chart: string;
  sha: string;
  dependencies: Dependency[];
  files: HelmFiles;
  helm: HelmParameters;
}

export interface HelmContext {
  app: string;
  namespace: string;
  kubeVersion?: string;
  apiVersions?: string[];
}

/** Where the controller answers a chart's lookups. The address holds the secret that lets the caller in. */
export interface ClusterReader {
  address: Secret;
}

export interface HelmPlan {
  source: HelmSource;
  /** What the result depends on. */
  content: unknown;
}

export interface HelmNeeds {
  env: BuildEnv;
  /** Chart repositories that dependencies may come from. */
  dependencies: DependencySources;
  fetchChart: FetchChart;
  fetchValues: FetchValues;
}

/** Everything a chart takes: its directory, missing dependencies, value files and parameter files, with the environment put in. */
export async function planHelm(
  trees: Trees,
  chart: string,
  given: HelmParameters,
  needs: HelmNeeds,
): Promise<Outcome<HelmPlan>> {
  const found = await trees.own.find(chart);
  if (found.kind !== "done") return found;
  const dependencies = await missingDependencies(trees.own, found.value.path, needs.dependencies, needs.fetchChart);
  if (dependencies.kind !== "done") return dependencies;
  const helm: HelmParameters = {
    ...given,
    parameters: given.parameters?.map((p) => ({ ...p, value: expand(p.value ?? "", needs.env) })),
  };
  const files = await helmFiles(trees, found.value.path, helm, needs);
  if (files.kind !== "done") return files;
  const { value } = files;
  const { path } = found.value;
  const content = await contentOf(trees.own, path);
  if (content.kind !== "done") return content;
  const sha = content.value;
  return done({
    source: { chart: path, sha, dependencies: dependencies.value, files: value, helm },
    content: {
      path,
      sha,
      dependencies: dependencies.value.map((d) => [d.name, d.sha]),
      inputs: value.inputs.map((input) => [input.root, input.path, input.sha]),
      order: [value.valueFiles, value.files],
      remote: value.remote.map(({ content }) => digest(content.toString("base64"))),
      helm,
    },
  });
}

/** Renders a chart with `helm template` in a private folder; flags in Argo CD's order, so that precedence is the same. */
export async function renderHelm(
  trees: Trees,
  source: HelmSource,
  context: HelmContext,
  cluster?: ClusterReader,
): Promise<Outcome<KubeObject[]>> {
  return withFolder(async (folder) => {
    const budget = newBudget();
    const chart = join(folder, "source", source.chart);
    const written = await extract(trees.own, source.chart, { to: join(folder, "source"), budget });
    if (written.kind !== "done") return written;
    for (const input of source.files.inputs) {
      const inChart = input.root === "source" && (source.chart === "" || input.path.startsWith(`${source.chart}/`));
      const file = inChart
        ? done(undefined)
        : await extract(input.tree, input.path, { to: join(folder, input.root), budget });
      if (file.kind !== "done") return file;
    }
    for (const { path, content } of source.files.remote) {
      await mkdir(dirname(join(folder, path)), { recursive: true, mode: 0o700 });
      await writeFile(join(folder, path), content, { mode: 0o600 });
    }
    for (const [i, dependency] of source.dependencies.entries()) {
      const to = join(chart, "charts", `${dependency.name}-needed-${i}`);
      const put = await extract(dependency.tree, dependency.path, { to, budget, without: dependency.path });
      if (put.kind !== "done") return put;
    }
    const opened = await openSubcharts(chart, budget, source.helm.skipSchemaValidation === true);
    if (opened.kind !== "done")
      return { ...opened, message: `chart ${source.chart || "at the root"}: ${opened.message}` };
    const what = `chart ${source.chart || "at the root"}`;
    const flags = await templateArgs(folder, source, context);
    if (flags.kind !== "done") return { ...flags, message: `${what}: ${flags.message}` };
    // The name stands by itself: `--name-template` is a template, which could read the environment and ask DNS. Helm takes up to 53 characters.
    const name = (source.helm.releaseName || context.app).slice(0, 53);
    const args = ["template", ...flags.value, ...(cluster ? ["--dry-run=server"] : []), "--", name, chart];
    const kubeconfig = cluster && (await writeKubeconfig(folder, cluster));
    const ran = await runTool({ tool: "helm", args, cwd: chart, folder, reason: REPO.chart, what, kubeconfig });
    if (ran.kind !== "done")
      return cluster ? { ...ran, message: ran.message.replaceAll(cluster.address.reveal(), "the cluster") } : ran;
    return parseManifests(ran.value.stdout.toString("utf8"), `helm output of ${posix.join(source.chart || ".")}`, {
      nameless: true,
    });
  });
}

async function writeKubeconfig(folder: string, { address }: ClusterReader): Promise<string> {
  const named = (kind: string, value: object) => ({ [`${kind}s`]: [{ name: "c", [kind]: value }] });
  const path = join(folder, "kubeconfig");
  const config = {
    ...{ apiVersion: "v1", kind: "Config", "current-context": "c" },
    ...named("cluster", { server: address.reveal() }),
    ...named("context", { cluster: "c" }),
  };
  await writeFile(path, JSON.stringify(config), { mode: 0o600 });
  return path;
}

async function templateArgs(
  folder: string,
  { files, helm }: HelmSource,
  context: HelmContext,
): Promise<Outcome<string[]>> {
  const args: string[] = [];
  const namespace = helm.namespace || context.namespace;
  if (namespace) args.push("--namespace", namespace);
  const kubeVersion = helm.kubeVersion || context.kubeVersion;
  if (kubeVersion) args.push("--kube-version", kubeVersionOf(kubeVersion) ?? kubeVersion);
  for (const { name, value = "", forceString } of helm.parameters ?? [])
    args.push(forceString ? "--set-string" : "--set", `${name}=${escapeSet(value)}`);
  for (const { name, path } of files.files) {
    if (!PARAMETER.test(name))
      return stop(
        REPO.refused,
        `file parameter ${JSON.stringify(name.slice(0, 100))}: a comma or = in a name is written \\, and \\=`,
      );
    args.push("--set-file", `${name}=${join(folder, path).replace(/[\\,]/g, "\\$&")}`);
  }
  for (const path of files.valueFiles) args.push("--values", oneFile(join(folder, path)));
  // valuesObject takes the place of values when both are there.
  const values = helm.valuesObject ? JSON.stringify(helm.valuesObject) : helm.values;
  if (values) {
    const path = join(folder, "values.yaml");
    await writeFile(path, values, { mode: 0o600 });
    args.push("--values", path);
  }
  for (const version of helm.apiVersions?.length ? helm.apiVersions : (context.apiVersions ?? []))
    args.push("--api-versions", version);
  if (!helm.skipCrds) args.push("--include-crds");
  if (helm.skipSchemaValidation) args.push("--skip-schema-validation");
  if (helm.skipTests) args.push("--skip-tests");
  return done(args);
}

// Helm reads `a=/path,b=/path` as two files: with a name that says so itself, any file of this machine would be a value.
const PARAMETER = /^(\\.|[^\\,=])+$/s;

/** Helm reads `--values` as a line of CSV: a folder whose name ends in a comma would begin another path, from the root of this machine. */
export const oneFile = (path: string): string => `"${path.replaceAll('"', '""')}"`;

/** Commas separate parameters unless they are inside a `{list}` or already escaped. */
export function escapeSet(value: string): string {
  if (value.startsWith("{") && value.endsWith("}")) return value;
  return value.replace(/(?<!\\),/g, "\\,");
}
