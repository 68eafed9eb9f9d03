import { homedir } from "node:os";
import { join } from "node:path";
import { tryParseDuration } from "../base/lang/duration.ts";
import type { MasterKeySettings } from "./access/master.ts";
import type { Limits } from "./domain/limits.ts";
import { TrustedProxies } from "./strangers/address.ts";
import type { StrangerSettings } from "./strangers/strangers.ts";

/** The service's settings, all from the environment. */
export interface Settings {
  host: string;
  port: number;
  data: string;
  databaseUrl: string | undefined;
  publicUrl: string | undefined;
  adminKey: string | undefined;
  /** Plain HTTP to other machines is meant: something else encrypts it. */
  allowHttp: boolean;
  template: string | undefined;
  logLevel: string;
  validateResponses: boolean;
  masterKey: MasterKeySettings;
  limits: Limits;
  strangers: StrangerSettings;
}

/** A setting that cannot be used; its message says what to do. */
export class SettingsError extends Error {}

export function readSettings(env: NodeJS.ProcessEnv): Settings {
  const { host, port } = readListen(env.OUTPOST_LISTEN || "127.0.0.1:8080");
  const publicUrl = env.OUTPOST_PUBLIC_URL?.replace(/\/+$/, "");
  if (publicUrl && !/^https?:\/\/[^\s@]+$/.test(publicUrl))
    throw new SettingsError("OUTPOST_PUBLIC_URL must be an http:// or https:// address without credentials");
  const logLevel = env.OUTPOST_LOG_LEVEL || "info";
  if (!["debug", "info", "warn", "error", "silent"].includes(logLevel))
    throw new SettingsError("OUTPOST_LOG_LEVEL must be debug, info, warn, error or silent");
  return {
    host,
    port,
    data: env.OUTPOST_DATA || join(homedir(), ".local/share/outpost"),
    databaseUrl: env.DATABASE_URL || undefined,
    publicUrl: publicUrl || undefined,
    adminKey: env.OUTPOST_ADMIN_KEY || undefined,
    allowHttp: env.OUTPOST_ALLOW_HTTP === "true",
    template: env.OUTPOST_STORE_TEMPLATE || undefined,
    logLevel,
    validateResponses: env.OUTPOST_VALIDATE_RESPONSES === "true",
    masterKey: { text: env.OUTPOST_MASTER_KEY || undefined, file: env.OUTPOST_MASTER_KEY_FILE || undefined },
    limits: readLimits(env),
    strangers: {
      trustedProxies: readProxies(env.OUTPOST_TRUSTED_PROXIES),
      connections: readCount(env, "OUTPOST_ANONYMOUS_CONNECTIONS", 4_000),
    },
  };
}

export function readLimits(env: NodeJS.ProcessEnv): Limits {
  return {
    queueScope: readCount(env, "OUTPOST_QUEUE_MAX", 10_000),
    queueAccount: readCount(env, "OUTPOST_QUEUE_MAX_ACCOUNT", 100_000),
    discovered: readCount(env, "OUTPOST_DISCOVERED_MAX", 20_000),
    artifactBytes: readCount(env, "OUTPOST_ARTIFACT_MAX_MIB", 10_240) * 1024 * 1024,
    retentionSeconds: readRetention(env, "OUTPOST_TASK_RETENTION", "30d"),
    deploymentSeconds: readRetention(env, "OUTPOST_DEPLOYMENT_RETENTION", "400d"),
    auditSeconds: readAuditRetention(env.OUTPOST_AUDIT_RETENTION || "400d"),
    auditDir: env.OUTPOST_AUDIT_EXPORT_DIR || undefined,
  };
}

function readRetention(env: NodeJS.ProcessEnv, name: string, usual: string): number {
  const ms = tryParseDuration(env[name] || usual);
  if (ms === undefined || ms < 60_000)
    throw new SettingsError(`${name} must be a duration of a minute or more, such as ${usual}`);
  return Math.floor(ms / 1_000);
}

function readAuditRetention(text: string): number {
  if (text === "0") return 0;
  const ms = tryParseDuration(text);
  if (ms === undefined || ms < 86_400_000)
    throw new SettingsError(
      "OUTPOST_AUDIT_RETENTION must be a duration of a day or more, such as 400d, or 0 to keep the audit trail for ever",
    );
  return Math.floor(ms / 1_000);
}

function readProxies(text = ""): string[] {
  const ranges = text
    .split(",")
    .map((range) => range.trim())
    .filter(Boolean);
  try {
    new TrustedProxies(ranges);
  } catch (error) {
    throw new SettingsError(
      `OUTPOST_TRUSTED_PROXIES must be addresses or CIDR ranges, separated by commas: ${(error as Error).message}`,
    );
  }
  return ranges;
}

function readCount(env: NodeJS.ProcessEnv, name: string, otherwise: number): number {
  const text = env[name] || String(otherwise);
  if (!/^[1-9][0-9]{0,8}$/.test(text)) throw new SettingsError(`${name} must be a whole number above 0`);
  return Number(text);
}

/** `host:port`, `[v6]:port`, `:port` (every address) or a port alone (loopback). */
export function readListen(text: string): { host: string; port: number } {
  const found = /^(?:(\[[0-9a-fA-F:]+\]|[^:\s]*):)?([0-9]{1,5})$/.exec(text);
  const port = Number(found?.[2]);
  if (!found || port > 65_535)
    throw new SettingsError(`OUTPOST_LISTEN must be host:port, such as 127.0.0.1:8080; it is ${JSON.stringify(text)}`);
  const host = found[1]?.replace(/^\[|\]$/g, "");
  return { host: host === undefined ? "127.0.0.1" : host || "0.0.0.0", port };
}
