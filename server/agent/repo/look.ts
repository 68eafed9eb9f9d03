import { matchGlob } from "../../base/lang/glob.ts";
import { done, type Outcome, stop } from "../../base/outcome.ts";
import { BOUNDS, type Tree } from "./git/tree.ts";
import { type Looked, type LookRequest, REPO } from "./types.ts";

const MAX_PATTERNS = 100;
const MAX_PATTERN = 1_000;
const MAX_DIRECTORIES = 50_000;
const MAX_BYTES = 20_000_000;

/** Answers from the files of a commit. */
export async function look(tree: Tree, { want }: LookRequest): Promise<Outcome<Omit<Looked, "revision">>> {
  if ("directories" in want) {
    const directories: string[] = [];
    const walked = await walk(tree, tree.root, "", 0, (path, kind, name) => {
      if (kind !== "tree") return true;
      if (name.startsWith(".")) return false;
      return directories.push(path) <= MAX_DIRECTORIES;
    });
    if (walked.kind !== "done") return walked;
    return directories.length > MAX_DIRECTORIES
      ? stop(REPO.tooLarge, `more than ${MAX_DIRECTORIES} folders`)
      : done({ directories });
  }
  const { include, exclude } = want;
  const patterns = [...include, ...exclude];
  if (patterns.length > MAX_PATTERNS || patterns.some((one) => typeof one !== "string" || one.length > MAX_PATTERN)) {
    return stop(
      REPO.refused,
      `more than ${MAX_PATTERNS} patterns of files, or one of more than ${MAX_PATTERN} characters`,
    );
  }
  const bad = patterns.find((one) => one === "" || one.startsWith("/") || one.split("/").includes(".."));
  if (bad !== undefined) return stop(REPO.escape, `pattern ${JSON.stringify(bad)} is outside of the repository`);
  const found: string[] = [];
  const walked = await walk(tree, tree.root, "", 0, (path, kind) => {
    const fits = (one: string) => matchListed(one, path);
    if ((kind === "blob" || kind === "link") && include.some(fits) && !exclude.some(fits)) found.push(path);
    return true;
  });
  if (walked.kind !== "done") return walked;
  if (found.length > BOUNDS.files) return stop(REPO.tooLarge, `more than ${BOUNDS.files} files fit`);
  return read(tree, found);
}

async function read(tree: Tree, paths: string[]): Promise<Outcome<Omit<Looked, "revision">>> {
  const files: [string, string][] = [];
  let bytes = 0;
  for (const path of paths) {
    const at = await tree.find(path);
    if (at.kind !== "done") return at;
    if (at.value.kind === "tree") continue;
    const blob = await tree.blob(at.value.sha, path);
    if (blob.kind !== "done") return blob;
    bytes += blob.value.length;
    if (bytes > MAX_BYTES) return stop(REPO.tooLarge, `the files that fit have more than ${MAX_BYTES} bytes`);
    files.push([path, blob.value.toString("utf8")]);
  }
  return done({ files: Object.fromEntries(files) });
}

/** Every entry of a tree; a folder for which the callback returns `false` is not entered. */
async function walk(
  tree: Tree,
  sha: string,
  under: string,
  depth: number,
  visit: (path: string, kind: string, name: string) => boolean,
): Promise<Outcome<void>> {
  if (depth > BOUNDS.depth) return stop(REPO.tooLarge, `folders are nested more than ${BOUNDS.depth} deep`);
  const entries = await tree.list(sha);
  if (entries.kind !== "done") return entries;
  for (const { name, kind, sha: inner } of entries.value) {
    const path = under ? `${under}/${name}` : name;
    if (!visit(path, kind, name) || kind !== "tree") continue;
    const walked = await walk(tree, inner, path, depth + 1, visit);
    if (walked.kind !== "done") return walked;
  }
  return done(undefined);
}

/** How `git ls-files` reads a pattern: stars go over slashes, and the name of a folder matches all in it. */
export function matchListed(pattern: string, path: string): boolean {
  const wanted = pattern.replace(/^(\.\/)+/, "").replace(/\/{2,}/g, "/");
  const folder = wanted.replace(/\/$/, "");
  if (folder === "" || folder === ".") return true;
  if (path === wanted || path.startsWith(`${folder}/`)) return true;
  return matchGlob(
    wanted.replace(/\\.|[{},]/g, (c) => (c.length > 1 ? c : `\\${c}`)),
    path,
  );
}
