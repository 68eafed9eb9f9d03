import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { homedir, hostname } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import { done, type Outcome, stop } from "../../base/outcome.ts";
import { endpointOf } from "../../link/settings.ts";

/** What one task may use; 0 means no bound. */
export interface Bounds {
  memoryBytes: number;
  diskBytes: number;
  outputBytes: number;
  /** Files and folders of its workspace. */
  files: number;
  /** Processes and threads at the same time. */
  processes: number;
}

export type SandboxMode = "auto" | "required" | "off";

/** The delegate's settings, from the environment that `file.ts` has completed. */
export interface Settings {
  endpoint: string;
  /** Names that users of other delegates give; the token decides, these are only compared. */
  name: string | undefined;
  account: string | undefined;
  /** Tags of this replica, beside those of its object. */
  tags: string[];
  type: string;
  /** At most as many tasks as this, when the service would allow more. */
  capacity: number | undefined;
  /** Percent in use from which on it takes no tasks. */
  thresholds: { cpuThreshold: number | undefined; memoryThreshold: number | undefined };
  /** Run once before anything else. */
  initScript: string | undefined;
  initMs: number;
  sandbox: SandboxMode;
  instance: string;
  workDir: string;
  listen: string;
  graceMs: number;
  bounds: Bounds;
  /** Names of variables that tasks get besides the fixed list. */
  taskEnv: string[];
  logLevel: string;
}

// Many environments that were written for other delegates use Log4j's names.
const LEVELS: Record<string, string> = {
  ...Object.fromEntries(["debug", "info", "warn", "error", "silent"].map((name) => [name, name])),
  ...{ trace: "debug", warning: "warn", fatal: "error", off: "silent" },
};
const MAX_TAGS = 64;
const MIB = 1024 * 1024;
// Ten seconds less than the chart's terminationGracePeriodSeconds, for saying goodbye.
const GRACE_SECONDS = 590;
// With these a task could take the delegate's place.
const WITHHELD = /^(OUTPOST_TOKEN|OUTPOST_TOKEN_FILE|DELEGATE_TOKEN|UPGRADER_TOKEN)$/;

/**
 * The proxy as PROXY_HOST, PROXY_PORT, PROXY_SCHEME, PROXY_USER and PROXY_PASSWORD give it, in the words that all programs know. With
 * PROXY_MANAGER=false it is for tasks only. HTTPS_PROXY wins.
 */
export function withProxy(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  if (!env.PROXY_HOST || ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"].some((name) => env[name]))
    return env;
  const user = env.PROXY_USER
    ? `${encodeURIComponent(env.PROXY_USER)}:${encodeURIComponent(env.PROXY_PASSWORD ?? "")}@`
    : "";
  const url = `${(env.PROXY_SCHEME || "http").toLowerCase()}://${user}${env.PROXY_HOST}${env.PROXY_PORT ? `:${env.PROXY_PORT}` : ""}`;
  const endpoint = endpointOf(env);
  const direct =
    env.PROXY_MANAGER?.toLowerCase() === "false" && endpoint.kind === "done" ? new URL(endpoint.value).hostname : "";
  const noProxy = [env.NO_PROXY || env.no_proxy, direct].filter(Boolean).join(",");
  return { ...env, HTTPS_PROXY: url, HTTP_PROXY: url, ...(noProxy ? { NO_PROXY: noProxy } : {}) };
}

export function readSettings(env: NodeJS.ProcessEnv): Outcome<Settings> {
  const endpoint = endpointOf(env);
  if (endpoint.kind !== "done") return endpoint;
  const numbers = new Map<string, number>();
  for (const [name, fallback, most] of [
    ["OUTPOST_GRACE_SECONDS", GRACE_SECONDS, 86_400],
    ["OUTPOST_TASK_MEMORY_MIB", 1_024, 2 ** 24],
    ["OUTPOST_TASK_DISK_MIB", 4_096, 2 ** 24],
    ["OUTPOST_TASK_OUTPUT_MIB", 64, 2 ** 20],
    ["OUTPOST_TASK_FILES", 1_000_000, 100_000_000],
    ["OUTPOST_TASK_PROCESSES", 1_024, 1_000_000],
    ["OUTPOST_INIT_SECONDS", 600, 86_400],
    ["DELEGATE_TASK_CAPACITY", 0, 1_000],
    ["DELEGATE_CPU_THRESHOLD", 0, 100],
    ["DELEGATE_RESOURCE_THRESHOLD", 0, 100],
  ] as const) {
    const text = env[name] || String(fallback);
    if (!/^[0-9]{1,9}$/.test(text) || Number(text) > most)
      return stop("SettingInvalid", `${name} must be a whole number from 0 to ${most}; it is ${JSON.stringify(text)}`);
    numbers.set(name, Number(text));
  }
  const inPod = Boolean(env.POD_NAME);
  const listen = env.OUTPOST_LISTEN || (inPod ? "0.0.0.0:3460" : "127.0.0.1:3460");
  const port = /^(?:\[[0-9a-fA-F:]+\]|[^:\s]*):([0-9]{1,5})$/.exec(listen)?.[1];
  if (port === undefined || Number(port) > 65_535)
    return stop(
      "SettingInvalid",
      `OUTPOST_LISTEN must be host:port, such as 127.0.0.1:3460; it is ${JSON.stringify(listen)}`,
    );
  const taskEnv = (env.OUTPOST_TASK_ENV ?? "").split(",").flatMap((name) => name.trim() || []);
  const wrong = taskEnv.find((name) => !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) || WITHHELD.test(name));
  if (wrong !== undefined)
    return stop(
      "SettingInvalid",
      `OUTPOST_TASK_ENV names ${JSON.stringify(wrong)}, which is not a variable's name or would give the delegate's token to tasks`,
    );
  const level = (env.OUTPOST_LOG_LEVEL || env.LOGGING_LEVEL || "info").toLowerCase();
  const logLevel = LEVELS[level];
  if (logLevel === undefined)
    return stop(
      "SettingInvalid",
      `OUTPOST_LOG_LEVEL must be debug, info, warn, error or silent; it is ${JSON.stringify(level)}`,
    );
  const tags = [
    ...new Set(`${env.DELEGATE_TAGS ?? ""},${env.OUTPOST_LABELS ?? ""}`.split(",").flatMap((tag) => tag.trim() || [])),
  ];
  const wrongTag = tags.find((tag) => !/^[A-Za-z0-9][-A-Za-z0-9_.:/]{0,62}$/.test(tag));
  if (wrongTag !== undefined)
    return stop(
      "SettingInvalid",
      `DELEGATE_TAGS and labels give the tag ${JSON.stringify(wrongTag)}; a tag has up to 63 letters, digits and any of -_.:/`,
    );
  if (tags.length > MAX_TAGS)
    return stop("SettingInvalid", `DELEGATE_TAGS and labels give ${tags.length} tags; ${MAX_TAGS} are possible`);
  const sandbox = env.OUTPOST_SANDBOX || "auto";
  if (sandbox !== "auto" && sandbox !== "required" && sandbox !== "off")
    return stop("SettingInvalid", `OUTPOST_SANDBOX must be auto, required or off; it is ${JSON.stringify(sandbox)}`);
  const workDir = resolve(env.OUTPOST_WORK_DIR || (inPod ? "/var/lib/outpost" : defaultDir(env)));
  return done({
    endpoint: endpoint.value,
    name: env.DELEGATE_NAME || undefined,
    account: env.ACCOUNT_ID || undefined,
    tags,
    type: (env.DELEGATE_TYPE || typeOf(env)).slice(0, 64),
    capacity: numbers.get("DELEGATE_TASK_CAPACITY") || undefined,
    thresholds: {
      cpuThreshold: numbers.get("DELEGATE_CPU_THRESHOLD") || undefined,
      memoryThreshold: numbers.get("DELEGATE_RESOURCE_THRESHOLD") || undefined,
    },
    initScript: env.INIT_SCRIPT?.trim() ? env.INIT_SCRIPT : undefined,
    initMs: numbers.get("OUTPOST_INIT_SECONDS")! * 1_000,
    sandbox,
    // Two delegates on one machine have different folders, and so different names.
    instance: env.POD_NAME || `${hostname()}-${createHash("sha256").update(workDir).digest("hex").slice(0, 6)}`,
    workDir,
    listen,
    graceMs: numbers.get("OUTPOST_GRACE_SECONDS")! * 1_000,
    bounds: {
      memoryBytes: numbers.get("OUTPOST_TASK_MEMORY_MIB")! * MIB,
      diskBytes: numbers.get("OUTPOST_TASK_DISK_MIB")! * MIB,
      outputBytes: numbers.get("OUTPOST_TASK_OUTPUT_MIB")! * MIB,
      files: numbers.get("OUTPOST_TASK_FILES")!,
      processes: numbers.get("OUTPOST_TASK_PROCESSES")!,
    },
    taskEnv,
    logLevel,
  });
}

// Tasks of a root delegate run as users of their own, who cannot look into root's home.
const defaultDir = (env: NodeJS.ProcessEnv) =>
  process.getuid?.() === 0 ? "/var/lib/outpost/delegate" : join(homeOf(env), ".local/share/outpost/delegate");

function typeOf(env: NodeJS.ProcessEnv): string {
  if (env.KUBERNETES_SERVICE_HOST) return "KUBERNETES";
  if (env.ECS_CONTAINER_METADATA_URI_V4) return "ECS";
  return existsSync("/.dockerenv") || existsSync("/run/.containerenv") ? "DOCKER" : "SHELL";
}

const homeOf = (env: NodeJS.ProcessEnv) => (env.HOME && isAbsolute(env.HOME) ? env.HOME : homedir());
