import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { chown, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fetch } from "undici";
import { buildTools } from "../cluster/tools.ts";
import { unprivileged } from "./postgres.ts";
import { asUser, daemon, freePort, ready, run } from "./run.ts";

/**
 * A real Gitea on loopback: repositories over HTTP, pull requests, statuses, webhooks, all by its own API.
 *
 *   const gitea = await startGitea();
 *   const { cloneUrl } = await gitea.createRepository("team/app", { files: { "chart/values.yaml": "replicas: 1\n" } });
 *   await gitea.api("POST", "/repos/team/app/pulls", { head: "change", base: "main", title: "Two replicas" });
 */
export interface Gitea {
  /** `http://127.0.0.1:PORT`, without a slash at the end; its API is below /api/v1. */
  readonly url: string;
  readonly port: number;
  /** An administrator: its name, password and a token for everything. Git takes the token as a password, too. */
  readonly user: string;
  readonly password: string;
  readonly token: string;
  /** Asks the API as the administrator, or with another `token`; a refusal is an error with its status and words. */
  // biome-ignore lint/suspicious/noExplicitAny: Gitea's own documents.
  api(method: string, path: string, body?: unknown, token?: string): Promise<any>;
  /** `owner/name`: a name that is not the administrator's is made an organisation. The default branch is `main`. */
  createRepository(
    name: string,
    options?: { files?: Record<string, string>; private?: boolean },
  ): Promise<{ cloneUrl: string; head: string }>;
  /** Writes files in one commit, on a branch that is made from `main` when it is new; tells the commit. */
  commit(name: string, files: Record<string, string>, options?: { branch?: string; message?: string }): Promise<string>;
  /** A file's text, or undefined where there is none. */
  file(name: string, path: string, ref?: string): Promise<string | undefined>;
  /** A user who sees what is public, and a token of theirs; `scopes` as Gitea has them: `read:repository`. */
  createUser(name: string, scopes?: string[]): Promise<{ token: string; password: string }>;
  log(): string;
  stop(): Promise<void>;
}

export interface GiteaOptions {
  /** The program, with `templates` and `options` beside it; default: built once from `test/cluster/tools-on-demand`. */
  program?: string;
}

const ADMIN = "robot";

export async function startGitea({ program }: GiteaOptions = {}): Promise<Gitea> {
  program ??= (await buildTools(() => {}, ["gitea"])).gitea!;
  // It refuses to be root, and must still read its templates, which are in root's cache.
  const plain = unprivileged(process.getuid?.() ?? 0, readFileSync("/etc/passwd", "utf8"));
  const user = plain && { ...plain, readsAll: true };
  const dir = await mkdtemp(join(tmpdir(), "gitea-"));
  const clean = () => rm(dir, { recursive: true, force: true, maxRetries: 5 });
  const config = join(dir, "app.ini");
  const env = { PATH: process.env.PATH, HOME: dir, GITEA_WORK_DIR: dir };
  const command = (...args: string[]) => ["--config", config, "--work-path", dir, ...args];
  try {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    await writeFile(config, ini(settings(dir, port, url, dirname(program))), { mode: 0o600 });
    if (user) for (const path of [dir, config]) await chown(path, user.uid, user.gid);
    const server = daemon(program, command("web"), { user, env, cwd: dir });
    await ready(
      "gitea",
      server,
      () =>
        fetch(`${url}/api/healthz`).then(
          ({ ok }) => ok,
          () => false,
        ),
      30_000,
    );
    const stop = async () => {
      await server.stop();
      await clean();
    };
    try {
      const password = randomBytes(12).toString("base64url");
      const create = [
        "admin",
        "user",
        "create",
        "--admin",
        "--username",
        ADMIN,
        "--password",
        password,
        "--email",
        `${ADMIN}@example.com`,
      ];
      const said = await run(
        "setpriv",
        [
          ...(user ? asUser(user) : []),
          "--",
          program,
          ...command(...create, "--must-change-password=false", "--access-token", "--access-token-scopes", "all"),
        ],
        { env, cwd: dir },
      );
      const token = /\b[0-9a-f]{40}\b/.exec(said.stdout)?.[0];
      if (!token) throw new Error(`gitea told no token: ${said.stdout}`);
      return { url, port, user: ADMIN, password, token, ...helpers(url, token), log: server.said, stop };
    } catch (error) {
      await server.stop("SIGKILL");
      throw error;
    }
  } catch (error) {
    await clean();
    throw error;
  }
}

function helpers(url: string, admin: string) {
  const ask = (method: string, path: string, body?: unknown, authorization = `token ${admin}`) =>
    fetch(`${url}/api/v1${path}`, {
      method,
      headers: { authorization, ...(body === undefined ? {} : { "content-type": "application/json" }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(30_000),
    });
  const must = async (method: string, path: string, body?: unknown, authorization?: string) => {
    const answer = await ask(method, path, body, authorization);
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text && JSON.parse(text);
  };
  const api: Gitea["api"] = (method, path, body, token = admin) => must(method, path, body, `token ${token}`);
  const exists = async (path: string) => (await ask("GET", path)).status === 200;
  const commit: Gitea["commit"] = async (name, files, { branch = "main", message = "Change files" } = {}) => {
    const fresh = !(await exists(`/repos/${name}/branches/${encodeURIComponent(branch)}`));
    const at = fresh ? "main" : branch;
    const changes = Object.entries(files).map(async ([path, text]) => {
      const answer = await ask("GET", `/repos/${name}/contents/${encodePath(path)}?ref=${encodeURIComponent(at)}`);
      const old = answer.ok ? ((await answer.json()) as { sha: string }) : undefined;
      const content = Buffer.from(text).toString("base64");
      return { path, content, ...(old ? { operation: "update", sha: old.sha } : { operation: "create" }) };
    });
    const made = await must("POST", `/repos/${name}/contents`, {
      files: await Promise.all(changes),
      message,
      branch: at,
      ...(fresh ? { new_branch: branch } : {}),
    });
    return made.commit.sha;
  };
  return {
    api,
    commit,
    createRepository: async (
      name: string,
      { files = {}, private: hidden = false }: { files?: Record<string, string>; private?: boolean } = {},
    ) => {
      const [owner = "", repository] = name.split("/");
      if (owner !== ADMIN && !(await exists(`/orgs/${owner}`))) await must("POST", "/orgs", { username: owner });
      const under = owner === ADMIN ? "/user/repos" : `/orgs/${owner}/repos`;
      await must("POST", under, { name: repository, auto_init: true, default_branch: "main", private: hidden });
      const made = Object.keys(files).length ? await commit(name, files, { message: "Add files" }) : undefined;
      return {
        cloneUrl: `${url}/${name}.git`,
        head: made ?? (await must("GET", `/repos/${name}/branches/main`)).commit.id,
      };
    },
    file: async (name: string, path: string, ref = "main") => {
      const answer = await ask("GET", `/repos/${name}/raw/${encodePath(path)}?ref=${encodeURIComponent(ref)}`);
      return answer.ok ? answer.text() : undefined;
    },
    createUser: async (name: string, scopes = ["all"]) => {
      const password = randomBytes(12).toString("base64url");
      await must("POST", "/admin/users", {
        username: name,
        password,
        email: `${name}@example.com`,
        must_change_password: false,
      });
      const basic = `Basic ${Buffer.from(`${name}:${password}`).toString("base64")}`;
      return {
        password,
        token: (await must("POST", `/users/${name}/tokens`, { name: "test", scopes }, basic)).sha1 as string,
      };
    },
  };
}

const encodePath = (path: string) => path.split("/").map(encodeURIComponent).join("/");

/** Nothing it would do by itself is on: no mail, no ssh, no jobs, no look at the Internet. */
const settings = (
  dir: string,
  port: number,
  url: string,
  files: string,
): Record<string, Record<string, string | number | boolean>> => ({
  server: {
    HTTP_ADDR: "127.0.0.1",
    HTTP_PORT: port,
    ROOT_URL: `${url}/`,
    STATIC_ROOT_PATH: files,
    APP_DATA_PATH: join(dir, "data"),
    OFFLINE_MODE: true,
    DISABLE_SSH: true,
  },
  database: { DB_TYPE: "sqlite3", PATH: join(dir, "gitea.db") },
  repository: { ROOT: join(dir, "repositories"), DEFAULT_BRANCH: "main" },
  security: { INSTALL_LOCK: true, SECRET_KEY: randomBytes(32).toString("hex"), PASSWORD_HASH_ALGO: "pbkdf2$1000$50" },
  service: { DISABLE_REGISTRATION: true },
  session: { PROVIDER: "memory" },
  queue: { TYPE: "channel" },
  indexer: { ISSUE_INDEXER_TYPE: "db" },
  cron: { ENABLED: false },
  actions: { ENABLED: false },
  packages: { ENABLED: false },
  // Servers of tests are on loopback.
  webhook: { ALLOWED_HOST_LIST: "loopback", DELIVER_TIMEOUT: 5 },
  migrations: { ALLOW_LOCALNETWORKS: true },
  picture: { DISABLE_GRAVATAR: true },
  log: { MODE: "console", LEVEL: "warn" },
});

const ini = (sections: Record<string, Record<string, string | number | boolean>>) =>
  Object.entries(sections)
    .map(
      ([name, values]) =>
        `[${name}]\n${Object.entries(values)
          .map(([key, value]) => `${key} = ${value}\n`)
          .join("")}`,
    )
    .join("\n");
