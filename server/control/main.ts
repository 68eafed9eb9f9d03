import { existsSync } from "node:fs";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isLoopbackHost } from "../base/cloud/plain-http.ts";
import { FIRST_ACCOUNT, firstStart } from "./access/bootstrap.ts";
import { loadMasterKeys } from "./access/master.ts";
import { loadSigner } from "./access/signer.ts";
import { createApp } from "./api/app.ts";
import { trackIdle } from "./api/http/sockets.ts";
import { makeMetrics } from "./api/metrics.ts";
import type { Services } from "./api/services.ts";
import { Webhooks } from "./api/webhooks/door.ts";
import { makeLogger, redact } from "./log.ts";
import { startRunner } from "./runner.ts";
import { readSettings, type Settings } from "./settings.ts";
import type { Database } from "./store/database/sql.ts";
import { openStore } from "./store/store.ts";
import { Strangers } from "./strangers/strangers.ts";
import { startSweeper } from "./sweeper.ts";
import { Contacts } from "./tasks/presence.ts";
import { Questions } from "./tasks/questions/questions.ts";
import { Bounds } from "./tasks/queue/bounds.ts";
import { Dispatchers } from "./tasks/queue/dispatcher.ts";

const VERSION = "0.1.0";
/** Requests in work may finish for this long after the signal. */
const GRACE_MS = 10_000;

/** A running service. */
export interface Running {
  /** Address it listens on. */
  url: string;
  services: Services;
  /** Lets what is in work finish, then closes the store. */
  stop(): Promise<void>;
}

/** `outpost server`: runs until the signal. Resolves with the exit code. */
export async function runServer(env: NodeJS.ProcessEnv, signal: AbortSignal): Promise<number> {
  let running: Running;
  try {
    running = await startServer(readSettings(env));
  } catch (error) {
    process.stderr.write(`outpost server: ${redact((error as Error).message)}\n`);
    return 1;
  }
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
  await running.stop();
  return 0;
}

/** Opens the store, makes the first account, listens. */
export async function startServer(settings: Settings, db?: Database): Promise<Running> {
  const log = makeLogger(settings.logLevel);
  const store =
    db ?? (await open(settings, (error) => log.warn({ err: error }, "the connection to PostgreSQL was lost")));
  try {
    // A store that the caller has opened may be shared: only what is this installation's own gets a key beside its data.
    const ownFile = db === undefined && store.kind === "embedded" ? join(settings.data, "master-key") : undefined;
    const master = await loadMasterKeys(settings.masterKey, ownFile);
    const first = await firstStart(store, settings.data, settings.adminKey);
    const stopping = new AbortController();
    const metrics = makeMetrics();
    const services: Services = {
      db: store,
      signer: await loadSigner(store, FIRST_ACCOUNT, master.keys),
      log,
      metrics,
      publicUrl: settings.publicUrl,
      stopping: stopping.signal,
      version: VERSION,
      dispatchers: new Dispatchers(store, (err) =>
        log.warn({ err }, "tasks could not be given out; the next look repeats it"),
      ),
      contacts: new Contacts(store, (err) => log.warn({ err }, "contacts of workers could not be written down")),
      bounds: new Bounds(settings.limits),
      questions: new Questions(),
      strangers: new Strangers(settings.strangers, () => metrics.strangers.inc({ why: "connection" })),
      webhooks: new Webhooks(store, log),
      limits: settings.limits,
    };
    const server = createApp(services, { validateResponses: settings.validateResponses });
    const closeIdle = trackIdle(server);
    // What a store has piled up is cleared before the first request; a table a time, for as many as there may be.
    for (let tables = 0; tables < 50 && (await store.upkeep?.()); tables++);
    const url = await listen(server, settings);
    const clockwork = [
      startSweeper(services),
      await startRunner(services),
      async () => services.signer.close(),
      () => services.dispatchers.close(),
      () => services.contacts.flush(),
      () => services.webhooks.close(),
    ];
    if (first.path) log.info({ path: first.path }, "made the administrator's key; sign in with: outpost login");
    if (master.made)
      log.info(
        { path: master.made },
        "made the master key that wraps the service's own key; back it up beside the data",
      );
    if (!master.keys.some && store.kind === "postgres")
      log.warn(
        {},
        "the service's private key stands in clear in the database: make a master key with `head -c 32 /dev/urandom | base64`, give it to every replica as OUTPOST_MASTER_KEY_FILE, and restart; the key is wrapped at the next start",
      );
    warnOfPlainHttp(settings, log);
    log.info({ url, store: store.kind }, "the service is ready");
    let stopped: Promise<void> | undefined;
    return {
      url,
      services,
      stop: () => (stopped ??= shutDown({ server, closeIdle, stopping, clockwork, store, log })),
    };
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** Credentials of workers and people pass a network: it must be encrypted. */
function warnOfPlainHttp({ host, publicUrl, allowHttp }: Settings, log: Services["log"]): void {
  if (isLoopbackHost(host) || publicUrl?.startsWith("https:") || allowHttp) return;
  log.warn(
    { listen: host, publicUrl },
    "the service speaks plain HTTP to other machines: put a proxy with TLS in front and set OUTPOST_PUBLIC_URL to its https:// address, or set OUTPOST_ALLOW_HTTP=true if a service mesh encrypts the connections",
  );
}

async function open(settings: Settings, onError: (error: Error) => void): Promise<Database> {
  if (!settings.databaseUrl) return openStore({ dir: settings.data, template: settings.template ?? shippedTemplate() });
  try {
    return await openStore({ url: settings.databaseUrl, onError });
  } catch (error) {
    throw new Error(`the PostgreSQL of DATABASE_URL cannot be used: ${redact((error as Error).message)}`);
  }
}

/** The template beside the bundle, or beside the folder of its chunks; without one a first start takes some seconds longer. */
function shippedTemplate(): string | undefined {
  return ["./store-template.tgz", "../store-template.tgz"]
    .map((path) => fileURLToPath(new URL(path, import.meta.url)))
    .find(existsSync);
}

function listen(server: Server, { host, port }: Settings): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      const what =
        error.code === "EADDRINUSE"
          ? `port ${port} on ${host} is taken; set OUTPOST_LISTEN to another`
          : `cannot listen on ${host}:${port}: ${error.message}`;
      reject(new Error(what));
    });
    server.listen(port, host, () => {
      const at = server.address() as AddressInfo;
      resolve(`http://${at.family === "IPv6" ? `[${at.address}]` : at.address}:${at.port}`);
    });
  });
}

/** What a running service is made of. */
interface Parts {
  server: Server;
  closeIdle(): void;
  stopping: AbortController;
  /** What runs beside requests, each by how it is stopped. */
  clockwork: readonly (() => Promise<void>)[];
  store: Database;
  log: Services["log"];
}

/** Polls and watches end at once and come back elsewhere; other requests finish; then connections and store are closed. */
async function shutDown({ server, closeIdle, stopping, clockwork, store, log }: Parts): Promise<void> {
  log.info("stopping");
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  stopping.abort();
  // A connection is idle only once its answer is written, which for some comes later than now.
  const idle = setInterval(closeIdle, 50);
  const force = setTimeout(() => server.closeAllConnections(), GRACE_MS);
  await closed;
  clearInterval(idle);
  clearTimeout(force);
  await Promise.all(clockwork.map((stop) => stop()));
  await store.close();
  log.info("stopped");
}
