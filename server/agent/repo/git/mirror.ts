import { rm } from "node:fs/promises";
import { join } from "node:path";
import { LruCache } from "../../../base/lru-cache.ts";
import { done, type Outcome, stop } from "../../../base/outcome.ts";
import { REPO, type Refs, type RepoAccess } from "../types.ts";
import { redactUrl } from "../url.ts";
import { FETCH_DEADLINE_MS, git, gitRemote, initBare, LS_DEADLINE_MS } from "./git.ts";
import { type GitObject, GitReader } from "./reader.ts";
import { GitTree, keptTrees, type Tree } from "./tree.ts";

// 32 MB of refs are about 400,000 of them.
const MAX_REFS_BYTES = 32_000_000;
// Every shallow fetch adds a pack; lookups slow down with their number.
const MAX_PACKS = 40;
const MAX_TAG_BYTES = 1_000_000;
const KEPT_COMMITS = 20;
// After a question that took 30 ms the next one waits 60 ms: a third of the time at the most is spent on asking. With half of it, 500
// applications that are made at once cost 60 questions more, some 2 of 21 CPU seconds.
const PAUSE = 2;
const MAX_PAUSE_MS = 150;

/** The local copy of one repository: bare, shallow, without a work tree. All who want the same thing at once share one command. */
export class Mirror {
  readonly #folder: string;
  readonly #allowLocal: boolean;
  readonly #reader: GitReader;
  readonly #trees = keptTrees();
  readonly #roots = new LruCache<string>({ most: 1_000, ms: 300_000 });
  #ready: Promise<Outcome<string>> | undefined;
  #refs: Refs | undefined;
  #asking: Promise<Outcome<Refs>> | undefined;
  /** When the question began whose answer `#refs` is, and the one that is being asked. */
  #refsAt = Number.NEGATIVE_INFINITY;
  #askingAt = Number.NEGATIVE_INFINITY;
  #next: Promise<Outcome<Refs>> | undefined;
  #endedAt = Number.NEGATIVE_INFINITY;
  #tookMs = 0;
  readonly #fetching = new Map<string, Promise<Outcome<string>>>();
  #fetches = 0;
  /** When it was last used, so that the oldest can be dropped. */
  usedAt = Date.now();

  /** `id` identifies address and credentials: two clients of one address may have different rights. */
  constructor(root: string, id: string, allowLocal: boolean) {
    this.#folder = join(root, id.slice(0, 32));
    this.#allowLocal = allowLocal;
    this.#reader = new GitReader(this.#folder);
  }

  /**
   * What the remote has, as of `since` or later: an answer that began before is not taken, the next one is shared by all who wait. Under load
   * the next one waits a little, so that many share it: a question costs a process here and two requests there.
   */
  async refs(repo: RepoAccess, since = performance.now()): Promise<Outcome<Refs>> {
    this.usedAt = Date.now();
    if (this.#refs && this.#refsAt >= since) return done(this.#refs);
    if (this.#asking && this.#askingAt >= since) return this.#asking;
    this.#next ??= (async () => {
      await this.#asking;
      const pause = this.#endedAt + Math.min(MAX_PAUSE_MS, PAUSE * this.#tookMs) - performance.now();
      if (pause > 0) await new Promise((resolve) => setTimeout(resolve, pause));
      this.#next = undefined;
      this.#askingAt = performance.now();
      this.#asking = this.#ask(repo);
      const refs = await this.#asking;
      this.#endedAt = performance.now();
      this.#tookMs = this.#endedAt - this.#askingAt;
      if (refs.kind === "done") this.#refsAt = this.#askingAt;
      this.#asking = undefined;
      return refs;
    })();
    return this.#next;
  }

  /** The last answer of `refs`, if there was one. */
  get lastRefs(): Refs | undefined {
    return this.#refs;
  }

  /** The files of a commit, fetched if they are not here yet. */
  async tree(repo: RepoAccess, commit: string): Promise<Outcome<Tree>> {
    this.usedAt = Date.now();
    const known = this.#roots.get(commit);
    if (known) return done(new GitTree(this.#reader, known, this.#trees));
    this.#ready ??= initBare(this.#folder);
    const ready = await this.#ready;
    if (ready.kind !== "done") {
      this.#ready = undefined;
      return ready;
    }
    let root = await this.#root(commit);
    if (root.kind !== "done") return root;
    if (root.value === undefined) {
      const fetched = await this.#fetch(repo, commit);
      if (fetched.kind !== "done") return fetched;
      root = await this.#root(commit);
      if (root.kind !== "done") return root;
    }
    if (root.value === undefined) return stop(REPO.revision, `${redactUrl(repo.url)} has no commit ${commit}`);
    this.#roots.set(commit, root.value);
    return done(new GitTree(this.#reader, root.value, this.#trees));
  }

  /** An object as it is stored, which `tree` has brought here. */
  read(name: string, maxBytes: number): Promise<Outcome<GitObject | undefined>> {
    return this.#reader.read(name, maxBytes);
  }

  /** The object of an annotated tag, fetched if it is not here yet. */
  async tag(repo: RepoAccess, sha: string): Promise<Outcome<Buffer>> {
    let read = await this.#reader.read(sha, MAX_TAG_BYTES);
    if (read.kind === "done" && !read.value) {
      const fetched = await this.#fetch(repo, sha);
      if (fetched.kind !== "done") return fetched;
      read = await this.#reader.read(sha, MAX_TAG_BYTES);
    }
    if (read.kind !== "done") return read;
    return read.value?.type === "tag"
      ? done(read.value.content)
      : stop(REPO.revision, `${redactUrl(repo.url)} has no tag ${sha}`);
  }

  async remove(): Promise<void> {
    this.#reader.close();
    await rm(this.#folder, { recursive: true, force: true });
  }

  close(): void {
    this.#reader.close();
  }

  async #root(commit: string): Promise<Outcome<string | undefined>> {
    const read = await this.#reader.read(`${commit}^{tree}`, 10_000_000);
    return read.kind === "done" ? done(read.value?.sha) : read;
  }

  async #ask(repo: RepoAccess): Promise<Outcome<Refs>> {
    const asked = await gitRemote(repo, {
      args: ["ls-remote", "--quiet", "--symref", "--", repo.url, "HEAD", "refs/heads/*", "refs/tags/*"],
      cwd: "/",
      deadlineMs: LS_DEADLINE_MS,
      maxBytes: MAX_REFS_BYTES,
      allowLocal: this.#allowLocal,
    });
    if (asked.kind !== "done") return asked;
    this.#refs = parseRefs(asked.value);
    return done(this.#refs);
  }

  #fetch(repo: RepoAccess, commit: string): Promise<Outcome<string>> {
    let fetching = this.#fetching.get(commit);
    if (!fetching) {
      const before = [...this.#fetching.values()].at(-1);
      // One after the other: two fetches of neighbouring commits at once would both transfer everything.
      fetching = Promise.resolve(before)
        .then(() => this.#fetchNow(repo, commit))
        .finally(() => this.#fetching.delete(commit));
      this.#fetching.set(commit, fetching);
    }
    return fetching;
  }

  async #fetchNow(repo: RepoAccess, commit: string): Promise<Outcome<string>> {
    if (++this.#fetches % MAX_PACKS === 0) await this.#tidy();
    const fetch = (refspec: string, depth: string[]) =>
      gitRemote(repo, {
        args: ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", ...depth, "--", repo.url, refspec],
        cwd: this.#folder,
        deadlineMs: FETCH_DEADLINE_MS,
        maxBytes: 1_000_000,
        allowLocal: this.#allowLocal,
      });
    const exact = await fetch(`${commit}:refs/outpost/${commit}`, [`--depth=${repo.depth ?? 1}`]);
    // A server may refuse commits that no ref points at; then the history of every branch is the only way to one.
    return exact.kind !== "done" && exact.reason === REPO.revision
      ? fetch("+refs/heads/*:refs/outpost/heads/*", [])
      : exact;
  }

  /** Keeps the commits used last and packs them together. */
  async #tidy(): Promise<void> {
    const refs = await git(this.#folder, [
      "for-each-ref",
      "--sort=-committerdate",
      "--format=%(refname)",
      "refs/outpost",
    ]);
    if (refs.kind !== "done") return;
    const used = new Set(this.#roots.keys());
    for (const ref of refs.value.split("\n").filter(Boolean).slice(KEPT_COMMITS)) {
      if (!used.has(ref.slice("refs/outpost/".length))) await git(this.#folder, ["update-ref", "-d", ref]);
    }
    await git(this.#folder, ["gc", "--quiet", "--prune=now"], { deadlineMs: FETCH_DEADLINE_MS });
  }
}

function parseRefs(text: string): Refs {
  const annotated: Record<string, string> = {};
  const refs: Refs = { branches: {}, tags: {}, annotated };
  for (const line of text.split("\n")) {
    const [sha, name] = line.split("\t");
    if (!sha || !name) continue;
    // `--symref` prints HEAD's branch in a line before its commit.
    if (name === "HEAD" && sha.startsWith("ref: refs/heads/")) refs.defaultBranch = sha.slice(16);
    else if (name === "HEAD") refs.head = sha;
    else if (name.startsWith("refs/heads/")) refs.branches[name.slice(11)] = sha;
    else if (name.startsWith("refs/tags/")) {
      // `^{}` is the commit an annotated tag points at; it comes after the tag itself and replaces it.
      const tag = name.slice(10).replace(/\^\{\}$/, "");
      if (name.endsWith("^{}") && refs.tags[tag]) annotated[tag] = refs.tags[tag];
      refs.tags[tag] = sha;
    }
  }
  return refs;
}
