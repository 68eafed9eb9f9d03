import { createServer, type IncomingMessage } from "node:http";
import { azureRoutes } from "./forge-azure.ts";
import { bitbucketRoutes } from "./forge-bitbucket.ts";
import { bitbucketServerRoutes } from "./forge-bitbucket-server.ts";
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
  /** Of this server itself, in front of the repository. */
  self: string;
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
export type Reply = { status: number; json?: unknown; html?: string; link?: string };
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

export type ForgeKind = "github" | "gitlab" | "bitbucket" | "bitbucketServer" | "azureDevOps";
export const FORGE_USER = "robot";

interface Kind {
  routes: Routes;
  /** Before the paths, in `apiUrl`. */
  api: string;
  header: "authorization" | "private-token";
  /** Values of the header that are let in. */
  signedIn(token: string): string[];
  /** What is said to everybody else. */
  refused: Reply;
}
const basic = (user: string, password: string) => `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;
const KINDS: Record<ForgeKind, Kind> = {
  github: {
    routes: async (forge, call) => (await browse("github", forge, call)) ?? (await githubRoutes(forge, call)),
    api: "",
    header: "authorization",
    signedIn: (token) => [`Bearer ${token}`],
    refused: { status: 401, json: { message: "Bad credentials" } },
  },
  gitlab: {
    routes: async (forge, call) => (await browse("gitlab", forge, call)) ?? (await gitlabRoutes(forge, call)),
    api: "/api/v4",
    header: "private-token",
    signedIn: (token) => [token],
    refused: { status: 401, json: { message: "401 Unauthorized" } },
  },
  bitbucket: {
    routes: bitbucketRoutes,
    api: "/2.0",
    header: "authorization",
    signedIn: (token) => [`Bearer ${token}`, basic(FORGE_USER, token)],
    refused: {
      status: 401,
      json: { type: "error", error: { message: "Access denied. You must have write or admin access." } },
    },
  },
  bitbucketServer: {
    routes: bitbucketServerRoutes,
    api: "",
    header: "authorization",
    signedIn: (token) => [`Bearer ${token}`, basic(FORGE_USER, token)],
    refused: {
      status: 401,
      json: {
        errors: [{ message: "Authentication failed.", exceptionName: "IncorrectPasswordAuthenticationException" }],
      },
    },
  },
  azureDevOps: {
    routes: azureRoutes,
    api: "",
    header: "authorization",
    signedIn: (token) => [basic("", token)],
    // A page for people, which it takes for an answer.
    refused: { status: 203, html: "<html>Azure DevOps Services | Sign In</html>" },
  },
};

/**
 * The REST API of a host as far as pull requests and lists need it, in front of a real Git repository. They are other people's services and
 * not to be had here: this speaks their documented protocol (paths, fields, statuses), and git itself makes the commits.
 */
export async function startForge(kind: ForgeKind, files: Record<string, string>): Promise<RunningForge> {
  const name = "team/release";
  const token = "forge-token-8f3a1c";
  const git = await startGit();
  const user = kind === "github" ? "x-access-token" : "oauth2";
  const repository = await git.createRepository(name, { users: { [user]: token }, files });
  const { routes, api, header, signedIn, refused } = KINDS[kind];
  const pulls: Pull[] = [];
  const calls: string[] = [];
  const forge: Forge = {
    name,
    origin: git.url,
    self: "",
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
      const allowed = signedIn(token).includes(String(request.headers[header]));
      const body = JSON.parse((await text(request)) || "null");
      const call = { method: request.method!, path: url.pathname, query: url.searchParams, body };
      const { status, json, html, link } = (allowed ? await routes(forge, call) : refused) ?? {
        status: 404,
        json: { message: "404 Not Found" },
      };
      response.writeHead(status, {
        "content-type": html ? "text/html" : "application/json",
        ...(link ? { link } : {}),
      });
      response.end(html ?? (json === undefined ? "" : JSON.stringify(json)));
    })().catch((error: Error) => response.writeHead(500).end(JSON.stringify({ message: error.message })));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  forge.self = `http://127.0.0.1:${port}`;
  return {
    apiUrl: `${forge.self}${api}`,
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
