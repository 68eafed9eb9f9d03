import { createHash } from "node:crypto";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { done, type Outcome, stop } from "../../../base/outcome.ts";
import { BOUNDS, type Entry, Tree } from "../git/tree.ts";
import { REPO } from "../types.ts";

/** The files of an unpacked chart or artifact. They no longer change, and are read like those of a commit. */
export class FolderTree extends Tree {
  readonly root: string;
  readonly #lists: ReadonlyMap<string, Entry[]>;
  readonly #files: ReadonlyMap<string, string>;

  private constructor(root: string, lists: Map<string, Entry[]>, files: Map<string, string>) {
    super();
    this.root = root;
    this.#lists = lists;
    this.#files = files;
  }

  /** Takes stock of a folder; links, devices and more than a source may hold are refused. */
  static async of(folder: string): Promise<Outcome<FolderTree>> {
    const lists = new Map<string, Entry[]>();
    const paths = new Map<string, string>();
    let [files, bytes] = [0, 0];
    const walk = async (dir: string, depth: number): Promise<Outcome<string>> => {
      if (depth > BOUNDS.depth) return stop(REPO.tooLarge, `it has more than ${BOUNDS.depth} levels`);
      const entries: Entry[] = [];
      const found = await readdir(dir, { withFileTypes: true });
      for (const item of found.sort((a, b) => (a.name < b.name ? -1 : 1))) {
        const path = join(dir, item.name);
        if (item.isDirectory()) {
          const inner = await walk(path, depth + 1);
          if (inner.kind !== "done") return inner;
          entries.push({ name: item.name, kind: "tree", executable: false, sha: inner.value });
          continue;
        }
        if (!item.isFile())
          return stop(REPO.refused, `it holds ${path.slice(folder.length + 1)}, which is not a plain file`);
        bytes += (await stat(path)).size;
        if (++files > BOUNDS.files || bytes > BOUNDS.totalBytes)
          return stop(REPO.tooLarge, "it is larger than what is accepted");
        const sha = hash(await readFile(path));
        paths.set(sha, path.slice(folder.length + 1));
        entries.push({ name: item.name, kind: "blob", executable: false, sha });
      }
      const sha = hash(JSON.stringify(entries.map(({ name, kind, sha }) => [name, kind, sha])));
      lists.set(sha, entries);
      return done(sha);
    };
    const root = await walk(folder, 0);
    if (root.kind !== "done") return root;
    return done(new FolderTree(root.value, lists, new Map([...paths].map(([sha, path]) => [sha, join(folder, path)]))));
  }

  /** The same stock of a folder that has been moved. */
  moved(from: string, to: string): FolderTree {
    const files = new Map([...this.#files].map(([sha, path]) => [sha, join(to, path.slice(from.length + 1))]));
    return new FolderTree(this.root, new Map(this.#lists), files);
  }

  async list(sha: string): Promise<Outcome<Entry[]>> {
    const entries = this.#lists.get(sha);
    return entries ? done(entries) : stop(REPO.path, `${sha} is not a directory`);
  }

  async blob(sha: string, path: string, maxBytes = BOUNDS.fileBytes): Promise<Outcome<Buffer>> {
    const file = this.#files.get(sha);
    if (!file) return stop(REPO.path, `${path} is not a file`);
    const { size } = await stat(file);
    if (size > maxBytes)
      return stop(REPO.tooLarge, `${path}: a file of ${size} bytes is larger than the limit of ${maxBytes}`);
    return done(await readFile(file));
  }
}

const hash = (content: string | Uint8Array): string => createHash("sha256").update(content).digest("hex");
