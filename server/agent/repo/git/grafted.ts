import { done, type Outcome, stop } from "../../../base/outcome.ts";
import { REPO } from "../types.ts";
import { type Entry, Tree } from "./tree.ts";

/**
 * A commit's files with other commits' in the places of its submodules. Ids say in which of them an entry is; they still identify all that is
 * below, as a commit never changes.
 */
export class GraftedTree extends Tree {
  readonly root: string;
  readonly #main: Tree;
  readonly #grafts: ReadonlyMap<string, Tree>;

  constructor(main: Tree, grafts: ReadonlyMap<string, Tree>) {
    super();
    this.#main = main;
    this.#grafts = grafts;
    this.root = `m:${main.root}`;
  }

  async list(id: string): Promise<Outcome<Entry[]>> {
    const { prefix, sha, tree } = this.#at(id);
    const entries = await tree.list(sha);
    if (entries.kind !== "done") return entries;
    const known: Entry[] = [];
    for (const entry of entries.value) {
      const graft = entry.kind === "submodule" ? this.#grafts.get(entry.sha) : undefined;
      // Without this the same id could mean a folder with and without the module's files.
      if (entry.kind === "submodule" && !graft)
        return stop(REPO.refused, `submodule ${entry.name} has no address in .gitmodules`);
      known.push(
        graft
          ? { ...entry, kind: "tree", sha: `m${entry.sha}:${graft.root}` }
          : { ...entry, sha: `${prefix}:${entry.sha}` },
      );
    }
    return done(known);
  }

  blob(id: string, path: string, maxBytes?: number): Promise<Outcome<Buffer>> {
    const { sha, tree } = this.#at(id);
    return tree.blob(sha, path, maxBytes);
  }

  #at(id: string): { prefix: string; sha: string; tree: Tree } {
    const colon = id.indexOf(":");
    const prefix = id.slice(0, colon);
    return { prefix, sha: id.slice(colon + 1), tree: this.#grafts.get(prefix.slice(1)) ?? this.#main };
  }
}
