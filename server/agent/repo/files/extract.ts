import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { done, type Outcome, stop } from "../../../base/outcome.ts";
import { BOUNDS, type Tree } from "../git/tree.ts";
import { REPO } from "../types.ts";

/** A private folder for one rendering, gone when `use` is over. */
export async function withFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "outpost-render-"));
  try {
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

export interface Budget {
  files: number;
  bytes: number;
}

export const newBudget = (): Budget => ({ files: BOUNDS.files, bytes: BOUNDS.totalBytes });

export interface Into {
  /** The folder. */
  to: string;
  budget: Budget;
  /** The part of the path that is removed. */
  without?: string;
  /** How many folders and links led here. */
  depth?: number;
}

/**
 * Writes a file or directory of a tree below `to`, at its own path. Links are written as the file or directory they lead to inside the
 * repository, so that no link is ever on disk; one that leads out is refused.
 */
export async function extract(tree: Tree, path: string, into: Into): Promise<Outcome<void>> {
  const { to, budget, depth = 0, without = "" } = into;
  if (depth > BOUNDS.depth)
    return stop(REPO.tooLarge, `path ${path} has more than ${BOUNDS.depth} levels, or its links form a circle`);
  const found = await tree.find(path);
  if (found.kind !== "done") return found;
  const place = (at: string) => join(to, at.slice(without.length));
  const target = place(path);
  if (found.value.kind === "blob") {
    await mkdir(dirname(target), { recursive: true, mode: 0o700 });
    return writeBlob(tree, { sha: found.value.sha, path }, target, budget);
  }
  await mkdir(target, { recursive: true, mode: 0o700 });
  const entries = await tree.list(found.value.sha);
  if (entries.kind !== "done") return entries;
  for (const entry of entries.value) {
    const inner = path ? `${path}/${entry.name}` : entry.name;
    if (entry.kind === "submodule") continue;
    const written =
      entry.kind === "blob"
        ? await writeBlob(tree, { sha: entry.sha, path: inner }, place(inner), budget)
        : await extract(tree, inner, { ...into, depth: depth + 1 });
    // A link that leads nowhere is not written; a read of it gives the error.
    if (written.kind !== "done" && !(entry.kind === "link" && written.reason === REPO.path)) return written;
  }
  return done(undefined);
}

async function writeBlob(
  tree: Tree,
  { sha, path }: { sha: string; path: string },
  target: string,
  budget: Budget,
): Promise<Outcome<void>> {
  if (--budget.files < 0) return stop(REPO.tooLarge, `the source has more than ${BOUNDS.files} files`);
  const blob = await tree.blob(sha, path);
  if (blob.kind !== "done") return blob;
  budget.bytes -= blob.value.length;
  if (budget.bytes < 0) return stop(REPO.tooLarge, `the source has more than ${BOUNDS.totalBytes / 1_000_000} MB`);
  await writeFile(target, blob.value, { mode: 0o600 });
  return done(undefined);
}

/** Environment of a rendering tool: nothing of ours, no network through a proxy, no cluster. */
export function toolEnv(folder: string, memoryMiB = 256): Record<string, string> {
  const nowhere = "http://127.0.0.1:1";
  const own = join(folder, "tool");
  return {
    // No git, no shell tools: what a chart or an overlay might want to start is not there.
    PATH: join(own, "bin"),
    HOME: join(own, "home"),
    TMPDIR: folder,
    XDG_CACHE_HOME: join(own, "home"),
    XDG_CONFIG_HOME: join(own, "home"),
    XDG_DATA_HOME: join(own, "home"),
    HELM_PLUGINS: "/nonexistent",
    LC_ALL: "C",
    KUBECONFIG: "/dev/null",
    HTTP_PROXY: nowhere,
    HTTPS_PROXY: nowhere,
    NO_PROXY: "",
    GIT_ALLOW_PROTOCOL: "none",
    // The tools are Go programs: a soft limit keeps a poisoned input from taking the node's memory first.
    GOMEMLIMIT: `${memoryMiB}MiB`,
    GOMAXPROCS: "2",
  };
}
