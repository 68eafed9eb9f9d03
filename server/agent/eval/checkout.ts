import { writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { done, type Outcome, stop } from "../../base/outcome.ts";
import { run } from "../../base/process/run.ts";
import { git, gitEnv } from "../repo/git/git.ts";
import { isCommit } from "../repo/revision.ts";

const INVALID = "CheckoutInvalid";
// Files are hashed once; what takes longer is not a repository of manifests.
const DEADLINE_MS = 120_000;
const PLAIN = /^[A-Za-z0-9][A-Za-z0-9._/-]{0,200}$/;
const UNFIT = /\.\.|\/\/|\.lock(\/|$)|[./]$|\/\./;
// The same files are the same commit.
const WHO = { NAME: "outpost", EMAIL: "outpost@localhost", DATE: "2000-01-01T00:00:00Z" };

/** A bare repository made from a local folder: its HEAD is the requested revision. */
export interface Checkout {
  /** Its own folder, for git. */
  address: string;
  /** What the HEAD is. */
  commit: string;
}

/** Whether a target revision can be the name of a branch; a range of versions, a commit and HEAD cannot. */
export const isBranch = (revision: string | undefined): revision is string =>
  revision !== undefined && revision !== "HEAD" && PLAIN.test(revision) && !isCommit(revision) && !UNFIT.test(revision);

/**
 * A folder at a revision of its repository, or without one its files as they are now, except those that Git ignores. Either goes through
 * the reader of what is fetched, with the same rules for links and names. The folder itself is not changed.
 */
export async function checkOut(folder: string, revision: string | undefined, into: string): Promise<Outcome<Checkout>> {
  const made = await git("/", ["init", "--quiet", "--bare", "--initial-branch=outpost-files", "--", into]);
  if (made.kind !== "done") return made;
  return revision === undefined ? snapshot(folder, into) : pin(folder, revision, into);
}

/** Gives the HEAD a name, so that a source that asks for this branch finds it. */
export async function nameHead({ address, commit }: Checkout, branch: string): Promise<Outcome<void>> {
  const named = await git(address, ["update-ref", `refs/heads/${branch}`, commit]);
  return named.kind === "done" ? done(undefined) : named;
}

async function snapshot(folder: string, into: string): Promise<Outcome<Checkout>> {
  const who = Object.entries(WHO).flatMap(([what, value]) =>
    ["AUTHOR", "COMMITTER"].map((role) => [`GIT_${role}_${what}`, value]),
  );
  const inside = {
    GIT_DIR: into,
    GIT_WORK_TREE: folder,
    GIT_INDEX_FILE: join(into, "index"),
    ...Object.fromEntries(who),
  };
  for (const args of [
    ["add", "--all", "--", "."],
    ["commit", "--quiet", "--no-verify", "--allow-empty", "--message=files"],
  ]) {
    const ran = await within(folder, ["-c", "core.bare=false", ...args], inside);
    if (ran.kind !== "done") return ran;
  }
  return headOf(into);
}

/** The objects stay where they are: the bare repository only knows of them. */
async function pin(folder: string, revision: string, into: string): Promise<Outcome<Checkout>> {
  const commit = await within(folder, ["rev-parse", "--verify", "--quiet", "--end-of-options", `${revision}^{commit}`]);
  if (commit.kind !== "done" || !isCommit(commit.value))
    return stop(INVALID, `${folder} is not a repository with a revision ${revision}`);
  const objects = await within(folder, ["rev-parse", "--git-path", "objects"]);
  if (objects.kind !== "done") return objects;
  await writeFile(join(into, "objects", "info", "alternates"), `${resolve(folder, objects.value)}\n`);
  const named = await nameHead({ address: into, commit: commit.value }, "outpost-files");
  return named.kind === "done" ? done({ address: into, commit: commit.value }) : named;
}

async function headOf(into: string): Promise<Outcome<Checkout>> {
  const commit = await git(into, ["rev-parse", "HEAD"]);
  return commit.kind === "done" ? done({ address: into, commit: commit.value.trim() }) : commit;
}

async function within(folder: string, args: string[], env: Record<string, string> = {}): Promise<Outcome<string>> {
  const ran = await run("git", {
    args,
    cwd: folder,
    env: { ...gitEnv(), ...env },
    deadlineMs: DEADLINE_MS,
    maxBytes: 10_000_000,
  });
  if (ran.kind !== "done") return ran;
  if (ran.value.code !== 0) return stop(INVALID, `${folder} cannot be read: ${ran.value.stderr.trim().slice(0, 500)}`);
  return done(ran.value.stdout.toString("utf8").trim());
}
