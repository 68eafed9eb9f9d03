import { mkdtemp, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Daemon, daemon, freePort, ready } from "./run.ts";

/** A Redis of the test's own, on loopback, keeping nothing on disk. */
export interface RedisServer {
  readonly url: string;
  readonly port: number;
  /** Where it speaks TLS, if it was asked to. */
  readonly tlsPort?: number;
  /** Kills it without warning; `start` brings an empty one back at the same address. */
  kill(): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
}

export interface RedisOptions {
  password?: string;
  /** Speaks TLS with this certificate too, on a port of its own. */
  tls?: { certificate: string; key: string };
  /** The program; default the one on PATH. */
  program?: string;
  env?: NodeJS.ProcessEnv;
}

/** Starts redis-server on a free port. */
export async function startRedis({
  password,
  tls,
  program = "redis-server",
  env,
}: RedisOptions = {}): Promise<RedisServer> {
  const dir = await mkdtemp(join(tmpdir(), "redis-"));
  const port = await freePort();
  const tlsPort = tls ? await freePort() : undefined;
  const secure = tls
    ? [
        "--tls-port",
        `${tlsPort}`,
        "--tls-cert-file",
        tls.certificate,
        "--tls-key-file",
        tls.key,
        "--tls-auth-clients",
        "no",
      ]
    : [];
  let server: Daemon | undefined;
  const start = async () => {
    const args = ["--port", `${port}`, "--bind", "127.0.0.1", "--dir", dir, "--save", "", "--appendonly", "no"];
    server = daemon(program, [...args, ...secure, ...(password ? ["--requirepass", password] : [])], {
      env: { ...process.env, ...env },
    });
    await ready("redis-server", server, () => ping(port));
  };
  try {
    await start();
  } catch (error) {
    await rm(dir, { recursive: true, force: true });
    throw new Error(`${(error as Error).message}\nIs Redis installed? On Debian: apt-get install redis-server`);
  }
  return {
    url: `redis://${password ? `:${encodeURIComponent(password)}@` : ""}127.0.0.1:${port}`,
    port,
    tlsPort,
    kill: async () => server?.stop("SIGKILL"),
    start,
    stop: async () => {
      await server?.stop();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** Redis answers its first line only when it takes commands; a port that accepts is not enough while it loads. */
function ping(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => socket.write("PING\r\n"));
    socket.setTimeout(1000, () => socket.destroy());
    socket.once("data", (answer) => {
      socket.destroy();
      resolve(/^(\+PONG|-NOAUTH)/.test(answer.toString()));
    });
    socket.once("error", () => {}).once("close", () => resolve(false));
  });
}
