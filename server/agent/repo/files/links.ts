import { posix } from "node:path";
import { digest } from "../../../base/json/canonical.ts";
import { done, type Outcome, stop } from "../../../base/outcome.ts";
import { BOUNDS, type Tree } from "../git/tree.ts";
import { REPO } from "../types.ts";

const MAX_LINKS = 1_000;
const MAX_KNOWN = 20_000;
// By content, so it holds for every repository; nearly all are empty.
const known = new Map<string, Below>();

interface Below {
  links: string[];
  files: number;
}

/** A digest of all that a path holds, with what its links lead to outside of it: the hash that git gives a folder knows only their names. */
export async function contentOf(tree: Tree, path: string, hops = 0): Promise<Outcome<string>> {
  if (hops > BOUNDS.depth) return stop(REPO.refused, `path ${path} goes through too many links`);
  const found = await tree.find(path);
  if (found.kind !== "done") return found;
  if (found.value.kind === "blob") return done(found.value.sha);
  const below = await whatIsBelow(tree, found.value.sha, 0);
  if (below.kind !== "done") return below;
  const { links, files } = below.value;
  if (files > BOUNDS.files) return stop(REPO.tooLarge, `path ${path} has more than ${BOUNDS.files} files`);
  if (links.length === 0) return done(found.value.sha);
  if (links.length > MAX_LINKS) return stop(REPO.tooLarge, `path ${path} has more than ${MAX_LINKS} links`);
  const targets: string[] = [];
  for (const link of links) {
    const target = await tree.find(posix.join(found.value.path || ".", link));
    if (target.kind !== "done") {
      if (target.reason !== REPO.path) return target;
      targets.push("");
      continue;
    }
    const content =
      target.value.kind === "blob" ? done(target.value.sha) : await contentOf(tree, target.value.path, hops + 1);
    if (content.kind !== "done") return content;
    targets.push(content.value);
  }
  return done(digest([found.value.sha, targets]));
}

/** Paths of the links in a folder, from it, and how many files it has. */
async function whatIsBelow(tree: Tree, sha: string, depth: number): Promise<Outcome<Below>> {
  const before = known.get(sha);
  if (before) return done(before);
  if (depth > BOUNDS.depth) return stop(REPO.tooLarge, `the source has more than ${BOUNDS.depth} levels`);
  const entries = await tree.list(sha);
  if (entries.kind !== "done") return entries;
  const links: string[] = [];
  let files = 0;
  for (const { name, kind, sha } of entries.value) {
    if (kind !== "tree") files++;
    if (kind === "link") links.push(name);
    if (kind !== "tree") continue;
    const inner = await whatIsBelow(tree, sha, depth + 1);
    if (inner.kind !== "done") return inner;
    files += inner.value.files;
    for (const link of inner.value.links) links.push(`${name}/${link}`);
    if (links.length > MAX_LINKS) return stop(REPO.tooLarge, `the source has more than ${MAX_LINKS} links`);
  }
  if (known.size > MAX_KNOWN) known.clear();
  known.set(sha, { links, files });
  return done({ links, files });
}
