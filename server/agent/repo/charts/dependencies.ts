import { posix } from "node:path";
import { isDetour, mayBeLocal } from "../../../base/cloud/address.ts";
import { done, type Outcome, stop } from "../../../base/outcome.ts";
import { parseYaml } from "../../../kube/yaml.ts";
import { permitsSource } from "../../project/permits.ts";
import { contentOf } from "../files/links.ts";
import type { Tree } from "../git/tree.ts";
import { satisfies } from "../revision.ts";
import { REPO, type RenderRequest, type RepoAccess } from "../types.ts";
import { isCrooked, normaliseUrl, redactUrl } from "../url.ts";
import type { Chart } from "./charts.ts";

const MAX_DEPENDENCIES = 50;
const MAX_BYTES = 1_000_000;

/** A chart that belongs into another one's `charts/`. */
export interface Dependency {
  name: string;
  tree: Tree;
  path: string;
  sha: string;
}

/** Gets a chart of a chart repository. */
export type FetchChart = (repo: RepoAccess, name: string, version: string) => Promise<Outcome<Chart>>;

interface Wanted {
  name: string;
  version: string;
  repository: string;
}

/** Where a chart's dependencies may come from. */
export interface DependencySources {
  registered: readonly RepoAccess[];
  /** What the projects permit besides, see `RenderRequest`. */
  permitted?: RenderRequest["dependencyRepos"];
  /** Addresses of this machine too, for tests and for rendering files at hand. */
  allowLocal?: boolean;
}

/**
 * The dependencies that a chart names and does not bring along. They come from the same repository, from chart repositories that are registered,
 * or from addresses that the project permits as sources. To those no credentials are shown, as the chart's author chose them.
 */
export async function missingDependencies(
  tree: Tree,
  chart: string,
  sources: DependencySources,
  fetchChart: FetchChart,
): Promise<Outcome<Dependency[]>> {
  const wanted = await namedDependencies(tree, chart);
  if (wanted.kind !== "done" || wanted.value.length === 0) return wanted.kind === "done" ? done([]) : wanted;
  const present = await presentCharts(tree, chart);
  if (present.kind !== "done") return present;
  const missing = wanted.value.filter(({ name }) => !present.value.has(name));
  if (missing.length === 0) return done([]);
  const locked = await lockedVersions(tree, chart);
  const result: Dependency[] = [];
  for (const one of missing) {
    const got = one.repository.startsWith("file://")
      ? await fromSameRepository(tree, chart, one)
      : await fromElsewhere(chart, one, locked, sources, fetchChart);
    if (got.kind !== "done") return got;
    result.push(got.value);
  }
  return done(result);
}

async function namedDependencies(tree: Tree, chart: string): Promise<Outcome<Wanted[]>> {
  const read = await readYaml(tree, posix.join(chart || ".", "Chart.yaml"));
  if (read.kind !== "done")
    return read.reason === REPO.path ? stop(REPO.chartNotFound, `${chart || "the root"} has no Chart.yaml`) : read;
  const { name, apiVersion, dependencies } = read.value;
  if (typeof name !== "string" || !/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name))
    return stop(REPO.refused, `${posix.join(chart || ".", "Chart.yaml")}: the chart's name is not a file name`);
  let list = dependencies;
  if (apiVersion === "v1") {
    const old = await readYaml(tree, posix.join(chart || ".", "requirements.yaml"));
    if (old.kind !== "done" && old.reason !== REPO.path) return old;
    list = old.kind === "done" ? old.value.dependencies : undefined;
  }
  const found: Wanted[] = [];
  for (const item of Array.isArray(list) ? list : []) {
    const { name: its, version, repository } = (item ?? {}) as Record<string, unknown>;
    if (typeof its !== "string" || !/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(its))
      return stop(REPO.refused, `${chart || "the root"}: a dependency's name is not a file name`);
    found.push({
      name: its,
      version: String(version ?? ""),
      repository: typeof repository === "string" ? repository.trim() : "",
    });
  }
  if (found.length > MAX_DEPENDENCIES)
    return stop(REPO.tooLarge, `chart ${chart || "the root"} has more than ${MAX_DEPENDENCIES} dependencies`);
  return done(found);
}

/** Names of the charts in `charts/`, unpacked or not. */
async function presentCharts(tree: Tree, chart: string): Promise<Outcome<Set<string>>> {
  const names = new Set<string>();
  const folder = posix.join(chart || ".", "charts");
  const found = await tree.find(folder);
  if (found.kind !== "done") return found.reason === REPO.path ? done(names) : found;
  if (found.value.kind !== "tree") return done(names);
  const entries = await tree.list(found.value.sha);
  if (entries.kind !== "done") return entries;
  for (const entry of entries.value) {
    const packed = /^(.+)-v?\d[^/]*\.tgz$/.exec(entry.name);
    if (packed) names.add(packed[1]!);
    if (entry.kind === "blob") continue;
    const read = await readYaml(tree, posix.join(folder, entry.name, "Chart.yaml"));
    if (read.kind === "done" && typeof read.value.name === "string") names.add(read.value.name);
    else if (read.kind !== "done" && read.reason === REPO.escape) return read;
  }
  return done(names);
}

async function lockedVersions(tree: Tree, chart: string): Promise<Map<string, string>> {
  const locked = new Map<string, string>();
  for (const file of ["requirements.lock", "Chart.lock"]) {
    const read = await readYaml(tree, posix.join(chart || ".", file));
    if (read.kind !== "done" || !Array.isArray(read.value.dependencies)) continue;
    for (const item of read.value.dependencies) {
      const { name, version, repository } = (item ?? {}) as Record<string, unknown>;
      if (typeof version === "string") locked.set(JSON.stringify([name, repository]), version);
    }
  }
  return locked;
}

async function fromSameRepository(
  tree: Tree,
  chart: string,
  { name, version, repository }: Wanted,
): Promise<Outcome<Dependency>> {
  const given = repository.slice("file://".length);
  const where = posix.join(chart || ".", "Chart.yaml");
  if (given.startsWith("/")) return stop(REPO.escape, `${where}: dependency ${repository} leads out of the repository`);
  const path = `${chart}/${given}`;
  const found = await tree.find(path);
  if (found.kind !== "done")
    return found.reason === REPO.escape
      ? stop(REPO.escape, `${where}: dependency ${repository} leads out of the repository`)
      : found;
  const read = await readYaml(tree, posix.join(found.value.path || ".", "Chart.yaml"));
  if (read.kind !== "done") return stop(REPO.chartNotFound, `${where}: dependency ${repository} has no Chart.yaml`);
  const its = String(read.value.version ?? "");
  if (version && !satisfies(its, version))
    return stop(
      REPO.chartNotFound,
      `${where}: dependency ${name} has version ${its.slice(0, 64)}, which ${version} does not allow`,
    );
  if (chart === found.value.path || chart.startsWith(found.value.path ? `${found.value.path}/` : ""))
    return stop(REPO.refused, `${where}: dependency ${repository} is the chart itself`);
  const content = await contentOf(tree, found.value.path);
  return content.kind === "done" ? done({ name, tree, path: found.value.path, sha: content.value }) : content;
}

async function fromElsewhere(
  chart: string,
  { name, version, repository }: Wanted,
  locked: ReadonlyMap<string, string>,
  sources: DependencySources,
  fetchChart: FetchChart,
): Promise<Outcome<Dependency>> {
  const where = posix.join(chart || ".", "Chart.yaml");
  if (!repository)
    return stop(
      REPO.chartNotFound,
      `${where}: dependency ${name} is missing in charts/ and names no repository; commit the charts/ directory`,
    );
  const registered = registeredFor(repository, sources.registered);
  const refused = registered ? deniedBelow(repository, sources) : refusal(repository, sources);
  if (refused)
    return stop(
      REPO.dependency,
      `${where}: dependency ${name} comes from ${redactUrl(repository).slice(0, 200)}, which is ${refused}, or run \`helm dependency update\` and commit the charts/ directory`,
    );
  const repo = registered ?? { url: repository, type: repository.startsWith("oci://") ? "oci" : "helm" };
  const lock = locked.get(JSON.stringify([name, repository]));
  const got = await fetchChart(repo, name, lock && (!version || satisfies(lock, version)) ? lock : version);
  if (got.kind !== "done") return got;
  return done({ name, tree: got.value.tree, path: "", sha: got.value.tree.root });
}

/** Why nothing is fetched from an address that is not registered, and what helps; undefined where it may be. */
function refusal(repository: string, { permitted, allowLocal = false }: DependencySources): string | undefined {
  const strict = process.env.OUTPOST_CHART_DEPENDENCIES === "registered";
  if (!permitted || strict || !/^(https?|oci):\/\//.test(repository))
    return "not registered with this agent; register it";
  if (!permitted.every((sourceRepos) => permitsSource({ sourceRepos: [...sourceRepos] }, repository)))
    return "not registered with this agent, and not permitted by the project's sourceRepos; add it there, register it";
  const host = URL.canParse(repository) ? new URL(repository.replace(/^oci:/, "https:")).hostname : "";
  // Such a name is in a private network: by registering it, the operator permits charts to refer to it.
  return !allowLocal && (host === "" || mayBeLocal(host))
    ? "a private address and not registered with this agent; register it"
    : undefined;
}

/**
 * A registered repository covers all addresses below its own, with its credentials. Addresses that a project denies stay denied, and an
 * address that a server may read as a place above it is not below it.
 */
function deniedBelow(repository: string, { permitted = [] }: DependencySources): string | undefined {
  if (isAlias(repository)) return undefined;
  if (isDetour(repository) || isCrooked(repository))
    return 'no plain address: write it without ".." and an encoded "/", "." or "%"';
  const deniedBy = (sourceRepos: readonly string[]) =>
    !permitsSource({ sourceRepos: ["*", ...sourceRepos.filter((one) => one.startsWith("!"))] }, repository);
  return permitted.some(deniedBy)
    ? "denied by the project's sourceRepos; take it from a source that the project permits"
    : undefined;
}

const ALIAS = /^(?:@|alias:)(.+)$/;
const isAlias = (repository: string): boolean => ALIAS.test(repository);

/** Who vouches for an address: a repository registered under it, or under a path above it; `@name` means one by its name. */
function registeredFor(repository: string, registered: readonly RepoAccess[]): RepoAccess | undefined {
  const alias = ALIAS.exec(repository)?.[1];
  if (alias) return registered.find((repo) => repo.name === alias);
  const bare = (url: string) => normaliseUrl(url).replace(/^oci:\/\//, "");
  if (!/^(https?|oci):\/\//.test(repository)) return undefined;
  const wanted = bare(repository);
  const fits = registered
    .filter((repo) => wanted === bare(repo.url) || wanted.startsWith(`${bare(repo.url)}/`))
    .sort((a, b) => b.url.length - a.url.length)[0];
  return fits && { ...fits, url: repository, type: repository.startsWith("oci://") ? "oci" : "helm" };
}

async function readYaml(tree: Tree, path: string): Promise<Outcome<Record<string, unknown>>> {
  const found = await tree.find(path);
  if (found.kind !== "done") return found;
  if (found.value.kind !== "blob") return stop(REPO.path, `path ${path} is a directory`);
  const blob = await tree.blob(found.value.sha, path, MAX_BYTES);
  if (blob.kind !== "done") return blob;
  const parsed = parseYaml(blob.value.toString("utf8"), path);
  if (parsed.kind !== "done") return parsed;
  const { value } = parsed;
  return typeof value === "object" && value !== null
    ? done(value as Record<string, unknown>)
    : stop(REPO.manifest, `${path}: is not an object`);
}
