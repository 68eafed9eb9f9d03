import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { reason } from "../schema/diagnostics.ts";
import { crash } from "./crash.ts";
import { createLog, type Log, silent } from "./log.ts";
import type { Provider } from "./provider.ts";
import { createProviderServer } from "./server.ts";

/** The value that go-plugin sends, so that a provider started by hand explains itself instead of waiting for ever. */
const cookie = "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2";
/** A killed Terraform closes the session without a word. This long later there is no caller left to answer. */
const lingering = 200;
/** A Terraform that was killed before it connected closes no session. Its child gets another parent, or never a connection. */
const PARENT_CHECK_MS = 1_000;
const CONNECT_MS = 60_000;

/** Serves a provider to the Terraform that started this process; returns when it listens. The process ends with the session. */
export async function serve(provider: Provider): Promise<void> {
  if (process.env.TF_PLUGIN_MAGIC_COOKIE !== cookie) {
    process.stderr.write(
      `This is ${provider.name}, a Terraform provider. Terraform starts it by itself; see its documentation.\n`,
    );
    process.exit(1);
  }
  const versions = process.env.PLUGIN_PROTOCOL_VERSIONS?.split(",") ?? [];
  if (versions.length > 0 && !versions.includes("6")) {
    process.stdout.write("This provider speaks plugin protocol 6, which needs Terraform 1.0 or newer.\n");
    process.exit(1);
  }
  const log = createLog(provider.name, (line) => process.stderr.write(line));
  // Ctrl-C reaches the whole process group; Terraform tells us itself, with StopProvider.
  process.on("SIGINT", () => {});
  for (const event of ["unhandledRejection", "uncaughtException"] as const)
    process.on(event, (error: unknown) => {
      log("error", `not caught: ${reason(error)}`, { stack: error instanceof Error ? error.stack : undefined });
      crash(error);
    });

  const folder = process.platform === "win32" ? undefined : mkdtempSync(join(tmpdir(), "tf-"));
  const clean = () => folder && rmSync(folder, { recursive: true, force: true });
  process.on("exit", clean);
  const parent = process.ppid;
  setInterval(() => process.ppid !== parent && process.exit(0), PARENT_CHECK_MS).unref();
  const lonely = setTimeout(() => process.exit(0), CONNECT_MS).unref();
  const { server, certificate } = createProviderServer({
    provider,
    log,
    clientCertificate: process.env.PLUGIN_CLIENT_CERT,
    // Terraform keeps its one connection, so the socket's file is no longer needed, whatever ends this process.
    onOpen: () => {
      clearTimeout(lonely);
      clean();
    },
    onClose: () => setTimeout(() => process.exit(0), lingering),
    onShutdown: () => process.exit(0),
  });
  const address = folder ? await listen(server, join(folder, "plugin")) : await listenLocally(server);
  // Standard base64 without padding, as Go's RawStdEncoding wants.
  const encoded = certificate?.toString("base64").replace(/=+$/, "") ?? "";
  process.stdout.write(`1|6|${folder ? "unix" : "tcp"}|${address}|grpc|${encoded}\n`);
}

function listen(server: Server, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once("error", reject).listen(path, () => resolve(path));
  });
}

/** Windows has no socket files here: the first free port of the range that Terraform names. The client's certificate is the guard. */
async function listenLocally(server: Server): Promise<string> {
  const [from, to] = [Number(process.env.PLUGIN_MIN_PORT ?? 10_000), Number(process.env.PLUGIN_MAX_PORT ?? 25_000)];
  for (let port = from; port <= to; port++) {
    if (!(await isFree(port))) continue;
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject).listen(port, "127.0.0.1", () => resolve());
    });
    return `127.0.0.1:${port}`;
  }
  throw new Error(`no free port between ${from} and ${to}`);
}

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", () => resolve(false)).listen(port, "127.0.0.1", () => probe.close(() => resolve(true)));
  });

/** A provider served in this process, for tests and debuggers. */
export interface Attached {
  /** The value of TF_REATTACH_PROVIDERS. */
  readonly reattach: string;
  close(): Promise<void>;
}

/** Serves a provider under `source` (`host/namespace/type`) without a process of its own. */
export async function attach(provider: Provider, source: string, log: Log = silent): Promise<Attached> {
  const folder = mkdtempSync(join(tmpdir(), "tf-"));
  const { server } = createProviderServer({ provider, log });
  const sessions = new Set<{ destroy(): void }>();
  server.on("session", (session) => {
    sessions.add(session);
    session.on("close", () => sessions.delete(session));
  });
  const path = await listen(server, join(folder, "plugin"));
  const addr = { Network: "unix", String: path };
  return {
    reattach: JSON.stringify({
      [source]: { Protocol: "grpc", ProtocolVersion: 6, Pid: process.pid, Test: true, Addr: addr },
    }),
    close: async () => {
      for (const session of sessions) session.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
