import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { digest } from "../../../base/json/canonical.ts";
import { done, type Outcome, stop } from "../../../base/outcome.ts";
import { isCommit } from "../revision.ts";
import { REPO, type RepoAccess, SIGNATURE } from "../types.ts";
import { identityOf, redactUrl } from "../url.ts";
import { FETCH_DEADLINE_MS, git, gitRemote, initBare } from "./git.ts";
import { GitReader } from "./reader.ts";

const MAX_OPEN = 50;
const MAX_COMMIT_BYTES = 1_000_000;

interface Opened {
  folder: string;
  reader: GitReader;
  ready: Promise<Outcome<string>>;
  /** One after the other: two fetches at once would fight for the same lock. */
  last: Promise<unknown>;
}

/** Commits of repositories without their files, for questions about the commits between two of them. */
export class History {
  readonly #root: string;
  readonly #allowLocal: boolean;
  readonly #open = new Map<string, Opened>();

  constructor(root: string, allowLocal: boolean) {
    this.#root = root;
    this.#allowLocal = allowLocal;
  }

  close(): void {
    for (const { reader } of this.#open.values()) reader.close();
  }

  async raw(repo: RepoAccess, commit: string): Promise<Outcome<Buffer>> {
    const read = await this.#of(repo).reader.read(commit, MAX_COMMIT_BYTES);
    if (read.kind !== "done") return read;
    return read.value?.type === "commit"
      ? done(read.value.content)
      : stop(REPO.revision, `${redactUrl(repo.url)} has no commit ${commit}`);
  }

  /** Commits that `to` has and `from` has not. */
  between(repo: RepoAccess, from: string, to: string, most: number): Promise<Outcome<string[]>> {
    const opened = this.#of(repo);
    const listing = opened.last.then(() => this.#list(opened, repo, from, to, most));
    opened.last = listing.catch(() => undefined);
    return listing;
  }

  async #list(
    { folder, ready }: Opened,
    repo: RepoAccess,
    from: string,
    to: string,
    most: number,
  ): Promise<Outcome<string[]>> {
    const made = await ready;
    if (made.kind !== "done") return made;
    const fetched = await gitRemote(repo, {
      args: [
        ...["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--filter=tree:0", `--depth=${most + 1}`],
        ...["--", repo.url, `${to}:refs/outpost/${to}`],
      ],
      cwd: folder,
      deadlineMs: FETCH_DEADLINE_MS,
      maxBytes: 1_000_000,
      allowLocal: this.#allowLocal,
    });
    if (fetched.kind !== "done") return fetched;
    // A missing one was rewritten away, or is older than the part that is read.
    // What an application's status says was synced may be any text; to git it could be an option.
    const known = isCommit(from) ? await git(folder, ["cat-file", "-t", from]) : done("");
    const range = known.kind === "done" && known.value.trim() === "commit" ? [to, `^${from}`] : [to];
    const listed = await git(folder, ["rev-list", `--max-count=${most + 1}`, ...range, "--"]);
    if (listed.kind !== "done") return listed;
    const commits = listed.value.split("\n").filter(Boolean);
    const ends = new Set((await readFile(join(folder, "shallow"), "utf8").catch(() => "")).split("\n").filter(Boolean));
    if (commits.length <= most && !commits.some((sha) => ends.has(sha))) return done(commits);
    return stop(
      SIGNATURE.tooLong,
      `${redactUrl(repo.url)} has more than ${most} commits since the last one that was synced, ${from.slice(0, 12)}: too many to verify; sync once with mode "head"`,
    );
  }

  #of(repo: RepoAccess): Opened {
    const id = digest(identityOf(repo)).slice(0, 32);
    let opened = this.#open.get(id);
    if (!opened) {
      const folder = join(this.#root, id);
      opened = { folder, reader: new GitReader(folder), ready: initBare(folder), last: Promise.resolve() };
      this.#open.set(id, opened);
      const [oldest] = this.#open;
      if (oldest && this.#open.size > MAX_OPEN) {
        this.#open.delete(oldest[0]);
        oldest[1].reader.close();
        void rm(oldest[1].folder, { recursive: true, force: true });
      }
    }
    return opened;
  }
}
