import { posix } from "node:path";
import { matchGlob } from "../../../base/lang/glob.ts";
import { done, type Outcome, stop } from "../../../base/outcome.ts";
import { BOUNDS, type Tree } from "../git/tree.ts";
import { REPO } from "../types.ts";

/** Braces alone make no glob: a file may be called so. */
export const isGlob = (path: string): boolean => /[*?[]/.test(path);
const hasPattern = (part: string): boolean => /[*?[{]/.test(part);

// Places looked at for one glob. A row of stars meets each folder again and again.
const MAX_PLACES = 100_000;

/** Where a glob is expanded, and how much of it may still be looked at. */
interface Search {
  tree: Tree;
  left: number;
}

/** A star stays inside one level, two cross any number; directories fit as files do. */
export function expandGlob(tree: Tree, parts: readonly string[]): Promise<Outcome<string[]>> {
  return expand({ tree, left: MAX_PLACES }, parts, true);
}

async function expand(search: Search, parts: readonly string[], filesToo: boolean): Promise<Outcome<string[]>> {
  // What has no pattern in front is one place; each part behind it goes on from all that were found.
  const first = parts.findIndex(hasPattern);
  const plain = first < 0 ? parts : parts.slice(0, first);
  let found = await there(search, plain.join("/"), filesToo && first < 0);
  if (first < 0) return found;
  for (let at = first; at < parts.length; at++) {
    if (found.kind !== "done") return found;
    found = await step(search, found.value, parts[at]!, filesToo && at === parts.length - 1);
  }
  return found;
}

async function step(
  search: Search,
  folders: readonly string[],
  part: string,
  filesToo: boolean,
): Promise<Outcome<string[]>> {
  const found = new Set<string>();
  for (const folder of folders) {
    const below =
      part === "**" ? await allBelow(search, folder, filesToo, 0) : await matching(search, folder, part, filesToo);
    if (below.kind !== "done") return below;
    for (const path of below.value) found.add(path);
  }
  return done([...found]);
}

async function there({ tree }: Search, path: string, filesToo: boolean): Promise<Outcome<string[]>> {
  const found = await tree.find(path);
  if (found.kind !== "done") return found.reason === REPO.path ? done([]) : found;
  return done(filesToo || found.value.kind === "tree" ? [path] : []);
}

async function matching(
  search: Search,
  folder: string,
  pattern: string,
  filesToo: boolean,
): Promise<Outcome<string[]>> {
  const entries = await entriesOf(search, folder);
  if (entries.kind !== "done") return entries;
  const found: string[] = [];
  for (const { path, name, isFolder } of entries.value)
    if (matchGlob(pattern, name) && (filesToo || isFolder)) found.push(path);
  return done(found);
}

/** The folder itself and all that is in it. */
async function allBelow(search: Search, folder: string, filesToo: boolean, depth: number): Promise<Outcome<string[]>> {
  const entries = await entriesOf(search, folder);
  if (entries.kind !== "done") return entries;
  const found = [folder];
  for (const { path, isFolder } of entries.value) {
    if (isFolder && depth < BOUNDS.depth) {
      const below = await allBelow(search, path, filesToo, depth + 1);
      if (below.kind !== "done") return below;
      for (const one of below.value) found.push(one);
    } else if (filesToo) found.push(path);
  }
  return done(found);
}

interface Place {
  path: string;
  name: string;
  isFolder: boolean;
}

/** In the order of their names; a link to nothing is not there. */
async function entriesOf(search: Search, folder: string): Promise<Outcome<Place[]>> {
  const { tree } = search;
  const at = await tree.find(folder);
  if (at.kind !== "done") return at.reason === REPO.path ? done([]) : at;
  if (at.value.kind !== "tree") return done([]);
  const entries = await tree.list(at.value.sha);
  if (entries.kind !== "done") return entries;
  search.left -= entries.value.length + 1;
  if (search.left < 0) return stop(REPO.tooLarge, `a values file glob looks at more than ${MAX_PLACES} places`);
  const places: Place[] = [];
  for (const { name, kind } of [...entries.value].sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (kind === "submodule") continue;
    const path = posix.join(folder, name);
    const target = kind === "link" ? await tree.find(path) : undefined;
    if (target && target.kind !== "done") {
      if (target.reason === REPO.path) continue;
      return target;
    }
    places.push({ path, name, isFolder: (target?.value.kind ?? kind) === "tree" });
  }
  return done(places);
}
