import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { serveGit } from "./git-http.ts";
import { BareRepository, type Change, type CommitOptions } from "./git-repo.ts";

export type { BareRepository, Change, CommitOptions } from "./git-repo.ts";

/** Faults the server can be told to show: answers 503, never answers, or cuts the connection. */
export type Fault = "none" | "down" | "hang" | "reset";

export interface RepositoryOptions {
  /** Name → password. None: anyone may read and push, as in a public sandbox. */
  users?: Record<string, string>;
  branch?: string;
  /** Committed at once as the first commit. */
  files?: Record<string, Change>;
}

/** A Git server over HTTP on loopback: real git behind it, so clone, fetch, push, partial clones all behave as they do. */
export interface GitServer {
  readonly url: string;
  readonly port: number;
  /** Folder of the bare repositories, for another server of the same ones. */
  readonly root: string;
  /** Makes (or adopts, when the root is kept) a repository. */
  createRepository(name: string, options?: RepositoryOptions): Promise<BareRepository>;
  repository(name: string): BareRepository;
  /** The clone address; `host` when the caller knows the server by another name than 127.0.0.1. */
  cloneUrl(name: string, host?: string): string;
  commit(
    name: string,
    files: Record<string, Change>,
    message: string,
    branch?: string,
    options?: CommitOptions,
  ): Promise<string>;
  deleteBranch(name: string, branch: string): Promise<void>;
  tag(name: string, tag: string, target?: string, message?: string): Promise<void>;
  /** Sets or changes a password; null takes the user away. */
  setPassword(name: string, user: string, password: string | null): void;
  /** Requests that reached git (refused and failed ones are not counted), of one repository or of all. */
  requests(name?: string): number;
  /** Requests answered 401. */
  refused(): number;
  fault(kind: Fault): void;
  stop(): Promise<void>;
}

interface Entry {
  repository: BareRepository;
  users: Map<string, string>;
  requests: number;
}

export interface ServerOptions {
  port?: number;
  /** Keeps the repositories in a folder of the caller's. */
  root?: string;
  /** A push to a repository that is not there makes it, for those whom these options let in. */
  onPush?: RepositoryOptions;
}

/** A name that a push may make: no path, and nothing that git or a file system takes for something else. */
const NEW_NAME = /^[a-z0-9][a-z0-9._-]{0,62}$/;

const isPush = ({ pathname, searchParams }: URL): boolean =>
  pathname.endsWith("/git-receive-pack") || searchParams.get("service") === "git-receive-pack";

/** Starts the server on a free port (or `port`). */
export async function startGit(options: ServerOptions = {}): Promise<GitServer> {
  const root = options.root ?? (await mkdtemp(join(tmpdir(), "git-server-")));
  await mkdir(root, { recursive: true });
  const entries = new Map<string, Entry>();
  let fault: Fault = "none";
  let refused = 0;

  const entry = (name: string): Entry => {
    const found = entries.get(name);
    if (!found) throw new Error(`no repository ${name}: create it first`);
    return found;
  };

  const create = async (name: string, { users = {}, branch = "main", files }: RepositoryOptions = {}) => {
    const repository = new BareRepository(root, name);
    await repository.create(branch);
    entries.set(name, { repository, users: new Map(Object.entries(users)), requests: 0 });
    if (files && !(await repository.tip(`refs/heads/${branch}`)))
      await repository.commit(files, "first commit", { branch });
    return repository;
  };

  /** What a request is about; a permitted push makes it. */
  const wanted = async (name: string | undefined, request: IncomingMessage): Promise<Entry | undefined> => {
    const { onPush } = options;
    if (name === undefined || entries.has(name) || !onPush || !NEW_NAME.test(name) || name.endsWith(".git"))
      return entries.get(name ?? "");
    if (!isPush(new URL(request.url ?? "/", "http://localhost"))) return undefined;
    const users = new Map(Object.entries(onPush.users ?? {}));
    // git pushes without credentials at first, and is asked for them.
    if (signedIn(request.headers.authorization, users) === undefined) return { users, requests: 0 } as Entry;
    await create(name, onPush);
    return entries.get(name);
  };

  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    if (fault === "down") return void response.writeHead(503, { "retry-after": "1" }).end("down\n");
    if (fault === "reset") return void request.socket.resetAndDestroy();
    if (fault === "hang") return;
    const name = /^\/(.+?)\.git(\/|$)/.exec(new URL(request.url ?? "/", "http://localhost").pathname)?.[1];
    const found = await wanted(name, request);
    if (!found) return void response.writeHead(404).end("no such repository\n");
    const user = signedIn(request.headers.authorization, found.users);
    if (user === undefined) {
      refused++;
      return void response.writeHead(401, { "www-authenticate": 'Basic realm="git"' }).end("sign in\n");
    }
    found.requests++;
    serveGit(request, response, { root, user });
  };
  const server = createServer((request, response) => void handle(request, response));
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port ?? 0, "127.0.0.1", resolve);
  });
  const address = server.address();
  const port = address && typeof address === "object" ? address.port : 0;

  return {
    url: `http://127.0.0.1:${port}`,
    port,
    root,
    createRepository: create,
    repository: (name) => entry(name).repository,
    cloneUrl: (name, host = "127.0.0.1") => `http://${host}:${port}/${name}.git`,
    commit: (name, files, message, branch, more) =>
      entry(name).repository.commit(files, message, { ...more, ...(branch ? { branch } : {}) }),
    deleteBranch: async (name, branch) => void (await entry(name).repository.deleteBranch(branch)),
    tag: (name, tag, target, message) => entry(name).repository.tag(tag, target, message),
    setPassword: (name, user, password) => {
      if (password === null) entry(name).users.delete(user);
      else entry(name).users.set(user, password);
    },
    requests: (name) =>
      name === undefined ? [...entries.values()].reduce((sum, e) => sum + e.requests, 0) : entry(name).requests,
    refused: () => refused,
    fault: (kind) => {
      fault = kind;
      // A connection kept alive from before would otherwise hang on through a "reset" or "hang".
      if (kind !== "none") server.closeIdleConnections();
    },
    stop: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
      if (!options.root) await rm(root, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** The user's name ("anonymous" for an open repository), or undefined when the request must sign in. */
export function signedIn(authorization: string | undefined, users: ReadonlyMap<string, string>): string | undefined {
  if (users.size === 0) return "anonymous";
  const [scheme, encoded] = (authorization ?? "").split(" ");
  if (scheme?.toLowerCase() !== "basic" || !encoded) return undefined;
  const pair = Buffer.from(encoded, "base64").toString();
  const colon = pair.indexOf(":");
  const name = pair.slice(0, colon);
  return colon > 0 && users.get(name) === pair.slice(colon + 1) ? name : undefined;
}
