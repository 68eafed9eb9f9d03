import { createServer, type IncomingMessage } from "node:http";
import { browse } from "./forge-browse.ts";
import { githubRoutes } from "./forge-github.ts";
import { gitlabRoutes } from "./forge-gitlab.ts";
import { type GitServer, startGit } from "./git.ts";
import type { BareRepository } from "./git-repo.ts";

/** A pull or merge request, as both hosts have them. */
export interface Pull {
  number: number;
  title: string;
  branch: string;
  base: string;
  state: "open" | "closed" | "merged";
  mergeCommit?: string;
  labels?: string[];
  /** What a test says stands in the way of a merge. */
  blocked?: string | undefined;
}

/** What the routes of a host stand on: a real repository and a list of pull requests. */
export interface Forge {
  name: string;
  origin: string;
  cloneUrl: string;
  repository: BareRepository;
  pulls: Pull[];
  /** Merges for real, with `git merge-tree`; undefined when there are conflicts. */
  merge(pull: Pull, message: string, squash: boolean): Promise<string | undefined>;
}

export interface Call {
  method: string;
  path: string;
  query: URLSearchParams;
  // biome-ignore lint/suspicious/noExplicitAny: bodies of two hosts' APIs
  body: any;
}
export type Reply = { status: number; json?: unknown };
export type Routes = (forge: Forge, call: Call) => Promise<Reply | undefined>;

export interface RunningForge {
  /** What `apiUrl` is to be. */
  apiUrl: string;
  name: string;
  token: string;
  git: GitServer;
  repository: BareRepository;
  pulls: Pull[];
  /** `METHOD path` of each call. */
  calls: string[];
  stop(): Promise<void>;
}

/**
 * The REST API of GitHub or GitLab as far as pull requests need it, in front of a real Git repository. Both are other people's services and
 * not to be had here: this speaks their documented protocol (paths, fields, statuses), and git itself makes the commits.
 */
export async function startForge(kind: "github" | "gitlab", files: Record<string, string>): Promise<RunningForge> {
  const name = "team/release";
  const token = "forge-token-8f3a1c";
  const git = await startGit();
  const user = kind === "github" ? "x-access-token" : "oauth2";
  const repository = await git.createRepository(name, { users: { [user]: token }, files });
  const routes: Routes = kind === "github" ? githubRoutes : gitlabRoutes;
  const pulls: Pull[] = [];
  const calls: string[] = [];
  const forge: Forge = {
    name,
    origin: git.url,
    cloneUrl: git.cloneUrl(name),
    repository,
    pulls,
    merge: async ({ branch, base }, message, squash) => {
      const [ours, theirs] = [await repository.tip(`refs/heads/${base}`), await repository.tip(`refs/heads/${branch}`)];
      const tree = await repository.git("merge-tree", "--write-tree", ours!, theirs!).catch(() => undefined);
      if (!tree) return undefined;
      const parents = ["-p", ours!, ...(squash ? [] : ["-p", theirs!])];
      const who = ["-c", "user.name=forge", "-c", "user.email=forge@example.com"];
      const commit = await repository.git(...who, "commit-tree", tree, ...parents, "-m", message);
      await repository.git("update-ref", `refs/heads/${base}`, commit);
      return commit;
    },
  };
  const server = createServer((request, response) => {
    void (async () => {
      const url = new URL(request.url ?? "/", "http://forge");
      calls.push(`${request.method} ${url.pathname}`);
      const given = kind === "github" ? request.headers.authorization : request.headers["private-token"];
      const allowed = given === (kind === "github" ? `Bearer ${token}` : token);
      const body = JSON.parse((await text(request)) || "null");
      const call = { method: request.method!, path: url.pathname, query: url.searchParams, body };
      const reply = allowed
        ? ((await browse(kind, forge, call)) ?? (await routes(forge, call)))
        : { status: 401, json: { message: "Bad credentials" } };
      const link = reply && "link" in reply && reply.link ? { link: reply.link as string } : {};
      const { status, json } = reply ?? { status: 404, json: { message: "404 Not Found" } };
      response.writeHead(status, { "content-type": "application/json", ...link }).end(json === undefined ? "" : JSON.stringify(json));
    })().catch((error: Error) => response.writeHead(500).end(JSON.stringify({ message: error.message })));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  return {
    apiUrl: `http://127.0.0.1:${port}${kind === "gitlab" ? "/api/v4" : ""}`,
    name,
    token,
    git,
    repository,
    pulls,
    calls,
    stop: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
      await git.stop();
    },
  };
}

async function text(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
