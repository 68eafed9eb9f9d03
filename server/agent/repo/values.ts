import { posix } from "node:path";
import { matchGlob } from "../../base/glob.ts";
import { done, type Outcome, stop } from "../../base/outcome.ts";
import { type BuildEnv, expand } from "./env.ts";
import { segments, type Tree } from "./tree.ts";
import { type HelmParameters, REPO } from "./types.ts";

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

/** Finds every value and parameter file that the settings name. Order is theirs; a file that is named beats the same one from a glob. */
export async function helmFiles(
  trees: Trees,
  chart: string,
  helm: HelmParameters,
  env: BuildEnv,
  fetchValues: FetchValues,
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
    const byGlob = /[*?[{]/.test(file);
    const files = byGlob ? await globbed(place.value, file, ignoreMissing) : await single(place.value, file, "values file", ignoreMissing);
    if (files.kind !== "done") return files;
    for (const input of files.value) {
      const path = posix.join(input.root, input.path);
      if (!byGlob) named.add(path);
      found.push({ input, path, byGlob });
    }
  }
  const taken = new Set<string>();
  for (const { input, path, byGlob } of found) {
    if (byGlob && (named.has(path) || taken.has(path))) continue;
    taken.add(path);
    if (input) result.inputs.push(input);
    result.valueFiles.push(path);
  }
  for (const parameter of helm.fileParameters ?? []) {
    const file = expandFile(parameter.path ?? "", env);
    if (isRemote(file)) return stop(REPO.refused, `file parameter ${parameter.name}: ${file} is remote; keep it in the repository`);
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
  if (!reference) return done({ root: "source", tree: trees.own, path: file.startsWith("/") ? file.slice(1) : `${chart}/${file}` });
  const [, name = "", path] = reference;
  const tree = trees.refs.get(name);
  if (!tree) return stop(REPO.sources, `${file}: no source of this application has ref: ${name}`);
  if (!path) return stop(REPO.path, `${file}: names no file; write $${name}/path/to/file`);
  return done({ root: `refs/${name}`, tree, path });
}

async function single({ root, tree, path }: Place, given: string, what: string, ignoreMissing: boolean): Promise<Outcome<Input[]>> {
  const found = await tree.find(path);
  if (found.kind !== "done") {
    if (found.reason !== REPO.path) return found;
    return ignoreMissing ? done([]) : stop(REPO.path, `${what} ${given} is not in the repository`);
  }
  if (found.value.kind !== "blob") return stop(REPO.path, `${what} ${given} is a directory`);
  return done([{ root, tree, path: found.value.path, sha: found.value.sha }]);
}

/** The files a glob means, in lexical order. */
async function globbed({ root, tree, path: pattern }: Place, given: string, ignoreMissing: boolean): Promise<Outcome<Input[]>> {
  const parts = segments(posix.normalize(`./${pattern}`));
  if (parts[0] === "..") return stop(REPO.escape, `values file glob ${given} leaves the repository`);
  const fixed = parts.slice(
    0,
    parts.findIndex((part) => /[*?[{]/.test(part)),
  );
  const found: Input[] = [];
  const walk = async (path: string, depth: number): Promise<Outcome<void>> => {
    const at = await tree.find(path);
    if (at.kind !== "done") return at.reason === REPO.path ? done(undefined) : at;
    if (at.value.kind === "blob" || depth > 10) return done(undefined);
    const entries = await tree.list(at.value.sha);
    if (entries.kind !== "done") return entries;
    for (const entry of entries.value) {
      const inner = posix.join(path, entry.name);
      if ((entry.kind === "blob" || entry.kind === "link") && matchPath(parts, segments(inner))) {
        const target = await tree.find(inner);
        if (target.kind !== "done") return target;
        if (target.value.kind === "blob") found.push({ root, tree, path: inner, sha: target.value.sha });
      }
      if (found.length > MAX_MATCHES) return stop(REPO.tooLarge, `values file glob ${given} matches more than ${MAX_MATCHES} files`);
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
  // All places in the pattern that the path may have come to; a row of `**` costs no more than one.
  let at = new Set([0]);
  const settle = (states: Set<number>) => {
    for (const i of states) if (pattern[i] === "**") states.add(i + 1);
    return states;
  };
  settle(at);
  for (const part of path) {
    const next = new Set<number>();
    for (const i of at) {
      if (pattern[i] === "**") next.add(i);
      else if (pattern[i] !== undefined && matchGlob(pattern[i]!, part)) next.add(i + 1);
    }
    at = settle(next);
  }
  return at.has(pattern.length);
}
