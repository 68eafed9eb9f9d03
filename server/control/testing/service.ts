import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PATIENCE_MS } from "../../../test/within.ts";
import { type Running, startServer } from "../main.ts";
import { readSettings } from "../settings.ts";
import type { Database } from "../store/database/sql.ts";
import { openStore } from "../store/store.ts";
import { templateStore } from "./database.ts";

export interface Answer {
  status: number;
  headers: Headers;
  body: any;
  text: string;
}

export interface Asking {
  key?: string | undefined;
  body?: unknown;
  /** The body as it is, instead of `body` as JSON. */
  raw?: string | Uint8Array;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

export interface TestService {
  url: string;
  admin: string;
  db: Database;
  running: Running;
  ask(method: string, path: string, asking?: Asking): Promise<Answer>;
  stop(): Promise<void>;
}

/** The service behind its real HTTP server, with every answer checked against the contract. */
export async function startService(
  options: { db?: Database; env?: Record<string, string> } = {},
): Promise<TestService> {
  const data = await mkdtemp(join(tmpdir(), "outpost-data-"));
  const db = options.db ?? (await openStore({ template: await templateStore() }));
  const settings = readSettings({
    OUTPOST_DATA: data,
    OUTPOST_LISTEN: "127.0.0.1:0",
    OUTPOST_LOG_LEVEL: "error",
    OUTPOST_VALIDATE_RESPONSES: "true",
    ...options.env,
  });
  const running = await startServer(settings, db);
  const admin = (await readFile(join(data, "admin-key"), "utf8").catch(() => "")).trim();
  return {
    url: running.url,
    admin,
    db,
    running,
    ask: (method, path, asking = {}) => ask(running.url, method, path, { key: admin, ...asking }),
    async stop() {
      await running.stop();
      await rm(data, { recursive: true, force: true });
    },
  };
}

export async function ask(url: string, method: string, path: string, asking: Asking = {}): Promise<Answer> {
  const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
  const body = asking.raw ?? (asking.body === undefined ? undefined : JSON.stringify(asking.body));
  const response = await fetch(`${url}${path}`, {
    method,
    headers: {
      ...(asking.key ? { authorization: `Bearer ${asking.key}` } : {}),
      ...(body === undefined ? {} : { "content-type": type }),
      ...asking.headers,
    },
    ...(body === undefined ? {} : { body: body as string }),
    ...(asking.signal ? { signal: asking.signal } : {}),
  });
  const text = await response.text();
  const json = /[/+]json\b/.test(response.headers.get("content-type") ?? "");
  return { status: response.status, headers: response.headers, text, body: json ? JSON.parse(text) : undefined };
}

/** Waits until `look` gives something, failing loudly after the deadline. */
export async function eventually<T>(
  what: string,
  look: () => Promise<T | undefined | false>,
  deadlineMs = 0,
): Promise<T> {
  const ends = Date.now() + Math.max(deadlineMs, PATIENCE_MS);
  for (;;) {
    const found = await look();
    if (found) return found;
    if (Date.now() > ends) throw new Error(`not in time: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
