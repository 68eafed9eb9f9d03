import { randomBytes } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { chown, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { type Daemon, daemon, freePort, ready, run } from "./run.ts";

export interface Database {
  readonly url: string;
  readonly name: string;
  drop(): Promise<void>;
}

/** A PostgreSQL of the test's own, on loopback with a password of its own. */
export interface PostgresServer {
  /** Address of the maintenance database `postgres`. */
  readonly url: string;
  readonly port: number;
  /** Runs `setup` once against a new database that all later `database()` calls copy: migrated in milliseconds. */
  template(setup: (url: string) => Promise<void>): Promise<void>;
  /** A fresh database, a copy of the template if there is one. */
  database(): Promise<Database>;
  /** Ends it as a power cut would; `start` lets it recover at the same address. */
  kill(): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
}

export interface PostgresOptions {
  /** Keep every promise about the disk (fsync, full pages); default off, which is several times quicker. */
  durable?: boolean;
  /** Settings by name, over the defaults. */
  settings?: Record<string, string>;
  progress?: (line: string) => void;
}

/** Makes a database cluster in a temporary folder and starts it. */
export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  const bin = await findPostgres(options.progress);
  const user = unprivileged(process.getuid?.() ?? 0, readFileSync("/etc/passwd", "utf8"));
  const dir = await mkdtemp(join(tmpdir(), "postgres-"));
  const data = join(dir, "data");
  const password = randomBytes(18).toString("base64url");
  const port = await freePort();
  let server: Daemon | undefined;
  let template = "template1";
  let count = 0;

  const start = async () => {
    const settings = {
      listen_addresses: "127.0.0.1",
      port: `${port}`,
      unix_socket_directories: dir,
      max_connections: "200",
      ...(options.durable ? {} : { fsync: "off", full_page_writes: "off", synchronous_commit: "off" }),
      ...options.settings,
    };
    const args = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    server = daemon(join(bin, "postgres"), ["-D", data, ...args], {
      user,
      deathSignal: "INT",
      env: { ...process.env, LC_ALL: "C" },
    });
    await ready("postgres", server, () => sql(url("postgres"), "select 1").then(Boolean, () => false), 30_000);
  };
  const url = (name: string) => `postgres://postgres:${password}@127.0.0.1:${port}/${name}`;
  const create = async (from: string) => {
    const name = `test_${process.pid}_${++count}`;
    await sql(url("postgres"), `create database ${name} template ${from}`);
    return name;
  };
  const clean = () => rm(dir, { recursive: true, force: true, maxRetries: 5 });

  try {
    await mkdir(data);
    await writeFile(join(dir, "password"), password, { mode: 0o600 });
    if (user) for (const path of [dir, data, join(dir, "password")]) await chown(path, user.uid, user.gid);
    const init = ["-D", data, "-U", "postgres", "--no-sync", "--encoding=UTF8", "--locale=C", "--auth=scram-sha-256"];
    const step = daemon(join(bin, "initdb"), [...init, `--pwfile=${join(dir, "password")}`], { user });
    await ready("initdb", step, async () => step.ended() === "ended with code 0", 60_000).catch((error) => {
      if (step.ended() !== "ended with code 0") throw error;
    });
    await start();
  } catch (error) {
    await server?.stop("SIGKILL");
    await clean();
    throw error;
  }

  return {
    url: url("postgres"),
    port,
    template: async (setup) => {
      const name = await create("template1");
      await setup(url(name));
      template = name;
    },
    database: async () => {
      const name = await create(template);
      return {
        name,
        url: url(name),
        drop: async () => void (await sql(url("postgres"), `drop database if exists ${name} with (force)`)),
      };
    },
    kill: async () => server?.stop("SIGKILL"),
    start,
    stop: async () => {
      // SIGINT is the "fast" shutdown: it does not wait for clients to leave.
      await server?.stop("SIGINT");
      await clean();
    },
  };
}

/** One statement on a connection of its own. */
async function sql(url: string, statement: string): Promise<pg.QueryResult> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5000 });
  client.on("error", () => {});
  try {
    await client.connect();
    return await client.query(statement);
  } finally {
    await client.end().catch(() => {});
  }
}

/** The newest installed PostgreSQL's programs; installs Debian's when root and there is none. */
export async function findPostgres(progress?: (line: string) => void): Promise<string> {
  const found = newestPostgres();
  if (found) return found;
  const advice = "PostgreSQL is not installed. On Debian or Ubuntu: apt-get install postgresql";
  if (process.getuid?.() !== 0 || !existsSync("/usr/bin/apt-get")) throw new Error(advice);
  progress?.("installing PostgreSQL with apt-get");
  // The package would start a server of its own on port 5432; this file is how Debian is told not to.
  await mkdir("/etc/postgresql-common", { recursive: true });
  const config = "/etc/postgresql-common/createcluster.conf";
  if (!existsSync(config)) await writeFile(config, "create_main_cluster = false\n");
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  await run("apt-get", ["update", "-q"], { env, deadlineMs: 300_000 });
  const keep = ["-o", "Dpkg::Options::=--force-confold"];
  await run("apt-get", ["install", "-q", "-y", "--no-install-recommends", ...keep, "postgresql"], {
    env,
    deadlineMs: 600_000,
  });
  const installed = newestPostgres();
  if (!installed) throw new Error(advice);
  return installed;
}

function newestPostgres(root = "/usr/lib/postgresql"): string | undefined {
  const versions = existsSync(root) ? readdirSync(root).sort((a, b) => Number(b) - Number(a)) : [];
  return versions.map((version) => join(root, version, "bin")).find((bin) => existsSync(join(bin, "initdb")));
}

/** The user to run as: our own, unless that is root, which PostgreSQL refuses. */
export function unprivileged(uid: number, passwd: string): { uid: number; gid: number } | undefined {
  if (uid !== 0) return undefined;
  const rows = passwd.split("\n").map((row) => row.split(":"));
  const row = rows.find(([name]) => name === "postgres") ?? rows.find(([name]) => name === "nobody");
  return { uid: Number(row?.[2] ?? 65534), gid: Number(row?.[3] ?? 65534) };
}
