import { posix } from "node:path";
import { done, type Outcome, stop } from "../../../base/outcome.ts";
import { type BuildEnv, expand } from "../files/env.ts";
import { segments, type Tree } from "../git/tree.ts";
import { type HelmParameters, REPO } from "../types.ts";
import { expandGlob, isGlob } from "./value-globs.ts";

/** A file or folder of one of the trees that a rendering works on; `root` is its folder in the private one. */
export interface Input {
  root: string;
  tree: Tree;
  path: string;
  sha: string;
}

/** The trees that settings may name files of: the source's own, and those of other sources by `$ref`. */
export interface Trees {
  own: Tree;
  refs: ReadonlyMap<string, Tree>;
}

/** Fetches a value file from elsewhere. */
export type FetchValues = (url: string) => Promise<Outcome<Buffer>>;

export interface HelmFiles {
  inputs: Input[];
  /** In the order of their effect, as paths below the private folder. */
  valueFiles: string[];
  /** Parameters that are files. */
  files: { name: string; path: string }[];
  remote: { path: string; content: Buffer }[];
}

const isRemote = (given: string): boolean => /^[a-z][a-z0-9+.-]*:\/\//i.test(given);
const MAX_MATCHES = 1_000;

/** Finds every value and parameter file that the settings name. Order is theirs, by the first place of each; one that is named beats a glob. */
export async function helmFiles(
  trees: Trees,
  chart: string,
  helm: HelmParameters,
  { env, fetchValues }: { env: BuildEnv; fetchValues: FetchValues },
): Promise<Outcome<HelmFiles>> {
  const result: HelmFiles = { inputs: [], valueFiles: [], files: [], remote: [] };
  const ignoreMissing = helm.ignoreMissingValueFiles === true;
  const given = (helm.valueFiles ?? []).map((file) => expandFile(file, env));
  const named = new Set<string>();
  const found: { input?: Input; path: string; byGlob: boolean }[] = [];
  for (const file of given) {
    if (isRemote(file)) {
      const content = await fetchValues(file);
      if (content.kind !== "done") return content;
      const path = `remote/${result.remote.length}.yaml`;
      result.remote.push({ path, content: content.value });
      found.push({ path, byGlob: false });
      continue;
    }
    const place = locate(trees, chart, file);
    if (place.kind !== "done") return place;
    const byGlob = isGlob(file);
    const files = byGlob
      ? await globbed(place.value, file, ignoreMissing)
      : await single(place.value, file, "values file", ignoreMissing);
    if (files.kind !== "done") return files;
    for (const input of files.value) {
      const path = posix.join(input.root, input.path);
      if (!byGlob) named.add(path);
      found.push({ input, path, byGlob });
    }
  }
  const taken = new Set<string>();
  for (const { input, path, byGlob } of found) {
    if ((byGlob && named.has(path)) || taken.has(path)) continue;
    taken.add(path);
    if (input) result.inputs.push(input);
    result.valueFiles.push(path);
  }
  for (const parameter of helm.fileParameters ?? []) {
    const file = expandFile(parameter.path ?? "", env);
    if (isRemote(file))
      return stop(REPO.refused, `file parameter ${parameter.name}: ${file} is remote; keep it in the repository`);
    const place = locate(trees, chart, file);
    if (place.kind !== "done") return place;
    const input = await single(place.value, file, "file parameter", false);
    if (input.kind !== "done") return input;
    result.inputs.push(...input.value);
    for (const { root, path } of input.value) result.files.push({ name: parameter.name, path: posix.join(root, path) });
  }
  return done(result);
}

/** The environment put in, but for the name of a reference at the beginning. */
function expandFile(file: string, env: BuildEnv): string {
  const reference = /^\$[A-Za-z0-9_-]+(?=\/)/.exec(file)?.[0] ?? "";
  const known = reference && Object.hasOwn(env, reference.slice(1));
  return known ? expand(file, env) : reference + expand(file.slice(reference.length), env);
}

interface Place {
  root: string;
  tree: Tree;
  path: string;
}

/** A leading slash is the root of the repository, `$name/` that of another source; all else is relative to the chart. */
function locate(trees: Trees, chart: string, file: string): Outcome<Place> {
  const reference = /^\$([^/]*)(?:\/(.*))?$/s.exec(file);
  if (!reference)
    return done({ root: "source", tree: trees.own, path: file.startsWith("/") ? file.slice(1) : `${chart}/${file}` });
  const [, name = "", path] = reference;
  const tree = trees.refs.get(name);
  if (!tree) return stop(REPO.sources, `${file}: no source of this application has ref: ${name}`);
  if (!path) return stop(REPO.path, `${file}: names no file; write $${name}/path/to/file`);
  return done({ root: `refs/${name}`, tree, path });
}

async function single(
  { root, tree, path }: Place,
  given: string,
  what: string,
  ignoreMissing: boolean,
): Promise<Outcome<Input[]>> {
  const found = await tree.find(path);
  if (found.kind !== "done") {
    if (found.reason !== REPO.path) return found;
    return ignoreMissing ? done([]) : stop(REPO.path, `${what} ${given} is not in the repository`);
  }
  if (found.value.kind !== "blob") return stop(REPO.path, `${what} ${given} is a directory`);
  return done([{ root, tree, path: found.value.path, sha: found.value.sha }]);
}

/** The files a glob means, in the order in which `doublestar` finds them: a folder's own before those of the folders in it. */
async function globbed(
  { root, tree, path: pattern }: Place,
  given: string,
  ignoreMissing: boolean,
): Promise<Outcome<Input[]>> {
  const parts = segments(posix.normalize(`./${pattern}`));
  if (parts[0] === "..") return stop(REPO.escape, `values file glob ${given} leaves the repository`);
  const paths = await expandGlob(tree, parts);
  if (paths.kind !== "done") return paths;
  if (paths.value.length > MAX_MATCHES)
    return stop(REPO.tooLarge, `values file glob ${given} matches more than ${MAX_MATCHES} files`);
  if (paths.value.length === 0 && !ignoreMissing) return stop(REPO.path, `values file glob ${given} matched no files`);
  const found: Input[] = [];
  for (const path of paths.value) {
    const target = await tree.find(path);
    if (target.kind !== "done") return target;
    if (target.value.kind !== "blob")
      return stop(REPO.path, `values file glob ${given} matches ${path}, which is a directory`);
    found.push({ root, tree, path, sha: target.value.sha });
  }
  return done(found);
}
