import { mkdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { run } from "./run.ts";

/** What a commit does to a path: new text or bytes, an executable, a link, a submodule's commit, or null to delete it. */
export type Change = string | Uint8Array | { exec: string } | { link: string } | { module: string } | null;

export interface CommitOptions {
  branch?: string;
  /** Seconds since 1970; given together with the same parent and content, the commit id is the same again. */
  date?: number;
  author?: string;
}

// The machine's own configuration (signing, templates, hooks) must not reach the test's repositories.
const quiet = (): NodeJS.ProcessEnv => ({
  PATH: process.env.PATH,
  HOME: "/nonexistent",
  GIT_CONFIG_NOSYSTEM: "1",
  LC_ALL: "C",
});

/** A bare repository on disk, written with plumbing only: no work tree, so a commit of any size is one process. */
export class BareRepository {
  readonly dir: string;
  // fast-import takes the branch tip at its start, so two commits at once would race.
  private line: Promise<unknown> = Promise.resolve();

  constructor(root: string, name: string) {
    this.dir = join(root, `${name}.git`);
  }

  /** Makes the repository unless it is there already. */
  async create(branch: string): Promise<void> {
    if (await stat(join(this.dir, "HEAD")).catch(() => undefined)) return;
    await mkdir(this.dir, { recursive: true });
    await this.git("init", "--quiet", "--bare", "--template=", `--initial-branch=${branch}`, ".");
    // Partial and exact fetches are what a repo server does against GitHub; allow them here too.
    await this.git("config", "uploadpack.allowFilter", "true");
    await this.git("config", "uploadpack.allowAnySHA1InWant", "true");
  }

  /** Runs git in the repository and gives its trimmed output. */
  async git(...args: string[]): Promise<string> {
    return (await run("git", args, { cwd: this.dir, env: quiet() })).stdout.trim();
  }

  /** Commits on top of the branch (made if missing) and gives the commit id. */
  commit(files: Record<string, Change>, message: string, options: CommitOptions = {}): Promise<string> {
    const next = this.line.then(async () => {
      const branch = options.branch ?? (await this.git("symbolic-ref", "--short", "HEAD"));
      const ref = `refs/heads/${branch}`;
      const tip = await this.tip(ref);
      const input = fastImport(ref, tip, files, message, options);
      await run("git", ["fast-import", "--quiet", "--date-format=raw"], { cwd: this.dir, env: quiet(), input });
      return this.git("rev-parse", ref);
    });
    this.line = next.catch(() => {});
    return next;
  }

  /** The commit a ref names, or undefined. */
  async tip(ref: string): Promise<string | undefined> {
    return this.git("rev-parse", "--quiet", "--verify", "--end-of-options", `${ref}^{commit}`).catch(() => undefined);
  }

  deleteBranch(branch: string): Promise<string> {
    return this.git("update-ref", "-d", `refs/heads/${branch}`);
  }

  /** An annotated tag when `message` is given, else a light one. Moves the tag if it is there. */
  async tag(name: string, target = "HEAD", message?: string): Promise<void> {
    const identity = ["-c", "user.name=Test", "-c", "user.email=test@example.com"];
    await this.git(
      ...identity,
      "tag",
      "--force",
      ...(message ? ["--annotate", "--message", message] : []),
      "--",
      name,
      target,
    );
  }

  deleteTag(name: string): Promise<string> {
    return this.git("tag", "--delete", "--", name);
  }
}

/** The input of `git fast-import` for one commit. */
export function fastImport(
  ref: string,
  parent: string | undefined,
  files: Record<string, Change>,
  message: string,
  options: CommitOptions = {},
): Buffer {
  const parts: Uint8Array[] = [];
  const line = (text: string) => parts.push(Buffer.from(`${text}\n`));
  const data = (content: string | Uint8Array) => {
    const bytes = Buffer.from(content as string);
    line(`data ${bytes.length}`);
    parts.push(bytes);
    line("");
  };
  const who = `${options.author ?? "Test <test@example.com>"} ${options.date ?? Math.floor(Date.now() / 1000)} +0000`;
  line(`commit ${ref}`);
  line(`author ${who}`);
  line(`committer ${who}`);
  data(message);
  if (parent) line(`from ${parent}`);
  for (const [path, change] of Object.entries(files)) {
    if (change === null) line(`D ${quote(path)}`);
    else if (typeof change === "string" || change instanceof Uint8Array) {
      line(`M 100644 inline ${quote(path)}`);
      data(change);
    } else if ("module" in change) line(`M 160000 ${change.module} ${quote(path)}`);
    else if ("exec" in change) {
      line(`M 100755 inline ${quote(path)}`);
      data(change.exec);
    } else {
      line(`M 120000 inline ${quote(path)}`);
      data(change.link);
    }
  }
  return Buffer.concat(parts);
}

const quote = (path: string) => `"${path.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n")}"`;
