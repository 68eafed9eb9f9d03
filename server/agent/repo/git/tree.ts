import { LruCache } from "../../../base/lru-cache.ts";
import { done, type Outcome, stop } from "../../../base/outcome.ts";
import { REPO } from "../types.ts";
import type { GitReader } from "./reader.ts";

export interface Entry {
  name: string;
  kind: "tree" | "blob" | "link" | "submodule";
  executable: boolean;
  sha: string;
}

export interface Found {
  /** Where it really is, after links: relative to the root, without a leading slash. */
  path: string;
  kind: "tree" | "blob";
  sha: string;
}

/** What one source may cost. A user who needs more splits the path. */
export const BOUNDS = {
  fileBytes: 10_000_000,
  totalBytes: 100_000_000,
  files: 20_000,
  depth: 32,
  links: 40,
  treeBytes: 8_000_000,
};

// Names that mean something to git or to the file system on some platform.
export const DANGEROUS = /^(\.\.?|\.git|git~\d+|)$|\//i;

/** Files that never change: of a commit, or of an unpacked chart. `sha` of an entry identifies all that is in it. */
export abstract class Tree {
  abstract readonly root: string;
  abstract list(sha: string): Promise<Outcome<Entry[]>>;
  abstract blob(sha: string, path: string, maxBytes?: number): Promise<Outcome<Buffer>>;

  /** Follows a path, links included, as long as it stays inside the repository. */
  async find(path: string): Promise<Outcome<Found>> {
    let left = segments(path);
    let hops = 0;
    const at: { name: string; sha: string }[] = [];
    while (left.length) {
      const name = left.shift()!;
      if (name === "..") {
        if (!at.pop()) return stop(REPO.escape, `path ${path} leaves the repository`);
        continue;
      }
      const entries = await this.list(at.at(-1)?.sha ?? this.root);
      if (entries.kind !== "done") return entries;
      const entry = entryNamed(entries.value, name);
      if (!entry) return stop(REPO.path, `path ${path} is not in the repository`);
      if (entry.kind === "link") {
        if (++hops > BOUNDS.links) return stop(REPO.refused, `path ${path} goes through too many links`);
        const target = await this.blob(entry.sha, path, 4_096);
        if (target.kind !== "done") return target;
        const to = target.value.toString("utf8");
        if (to.startsWith("/"))
          return stop(REPO.escape, `${[...at.map((a) => a.name), name].join("/")} is a link out of the repository`);
        left = [...segments(to), ...left];
        continue;
      }
      if (entry.kind === "submodule")
        return stop(
          REPO.unsupported,
          `path ${path} is in a submodule, which is not fetched; allow submodules for this repository`,
        );
      if (entry.kind === "blob") {
        if (left.length) return stop(REPO.path, `path ${path} is not in the repository`);
        return done({ path: [...at.map((a) => a.name), name].join("/"), kind: "blob", sha: entry.sha });
      }
      at.push({ name, sha: entry.sha });
    }
    return done({ path: at.map((a) => a.name).join("/"), kind: "tree", sha: at.at(-1)?.sha ?? this.root });
  }
}

// A folder with an application in each of its thousand folders is looked through for each of them, several times for each commit.
const MANY = 32;
const byName = new WeakMap<readonly Entry[], Map<string, Entry>>();

function entryNamed(entries: readonly Entry[], name: string): Entry | undefined {
  if (entries.length < MANY) return entries.find((entry) => entry.name === name);
  let index = byName.get(entries);
  if (!index) {
    index = new Map(entries.map((entry) => [entry.name, entry]));
    byName.set(entries, index);
  }
  return index.get(name);
}

/** Folders as they were read: 60,000 entries have some 10 MB. Each commit brings new ones, and old ones are not read again. */
export const keptTrees = () => new LruCache<Entry[]>({ most: 60_000, ms: 300_000 });

/** One commit's files, read straight from the object store: immutable, so whatever was read once is never read again. */
export class GitTree extends Tree {
  readonly #reader: GitReader;
  readonly root: string;
  readonly #trees: LruCache<Entry[]>;

  constructor(reader: GitReader, root: string, trees = keptTrees()) {
    super();
    this.#reader = reader;
    this.root = root;
    this.#trees = trees;
  }

  async list(sha: string): Promise<Outcome<Entry[]>> {
    const known = this.#trees.get(sha);
    if (known) return done(known);
    const read = await this.#reader.read(sha, BOUNDS.treeBytes);
    if (read.kind !== "done") return read;
    if (read.value?.type !== "tree") return stop(REPO.path, `${sha} is not a directory`);
    const entries = parseTree(read.value.content);
    const bad = entries.find(({ name }) => DANGEROUS.test(name));
    if (bad)
      return stop(REPO.refused, `the repository has an entry named ${JSON.stringify(bad.name)}, which is refused`);
    this.#trees.set(sha, entries, entries.length + 1);
    return done(entries);
  }

  async blob(sha: string, path: string, maxBytes = BOUNDS.fileBytes): Promise<Outcome<Buffer>> {
    const read = await this.#reader.read(sha, maxBytes);
    if (read.kind !== "done")
      return read.reason === REPO.tooLarge ? stop(REPO.tooLarge, `${path}: ${read.message}`) : read;
    return read.value?.type === "blob" ? done(read.value.content) : stop(REPO.path, `${path} is not a file`);
  }
}

/** `a//./b` → `a`, `b`; `..` stays, for the walk to judge. */
export const segments = (path: string): string[] => path.split("/").filter((part) => part !== "" && part !== ".");

const KINDS: ReadonlyMap<string, Entry["kind"]> = new Map([
  ["40000", "tree"],
  ["120000", "link"],
  ["160000", "submodule"],
]);

function parseTree(content: Buffer): Entry[] {
  const entries: Entry[] = [];
  for (let at = 0; at < content.length; ) {
    const blank = content.indexOf(32, at);
    const zero = content.indexOf(0, blank);
    const mode = content.toString("latin1", at, blank);
    const name = content.toString("utf8", blank + 1, zero);
    const sha = content.toString("hex", zero + 1, zero + 21);
    at = zero + 21;
    entries.push({ name, kind: KINDS.get(mode) ?? "blob", sha, executable: mode === "100755" });
  }
  return entries;
}
