import { createHash } from "node:crypto";
import { homedir, hostname } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import { done, type Outcome, stop } from "../base/outcome.ts";
import { endpointOf } from "../link/settings.ts";

/** What one task may use; 0 means no bound. */
export interface Bounds {
  memoryBytes: number;
  diskBytes: number;
  outputBytes: number;
}

/** The delegate's settings, all from the environment. */
export interface Settings {
  endpoint: string;
  /** Names that users of other delegates give; the token decides, these are only compared. */
  name: string | undefined;
  account: string | undefined;
  instance: string;
  workDir: string;
  listen: string;
  graceMs: number;
  bounds: Bounds;
  /** Names of variables that tasks get besides the fixed list. */
  taskEnv: string[];
  logLevel: string;
}

const MIB = 1024 * 1024;
// Ten seconds less than the chart's terminationGracePeriodSeconds, for saying goodbye.
const GRACE_SECONDS = 590;
// With these a task could take the delegate's place.
const WITHHELD = /^(OUTPOST_TOKEN|OUTPOST_TOKEN_FILE|DELEGATE_TOKEN|UPGRADER_TOKEN)$/;

export function readSettings(env: NodeJS.ProcessEnv): Outcome<Settings> {
  const endpoint = endpointOf(env);
  if (endpoint.kind !== "done") return endpoint;
  const numbers = new Map<string, number>();
  for (const [name, fallback, most] of [
    ["OUTPOST_GRACE_SECONDS", GRACE_SECONDS, 86_400],
    ["OUTPOST_TASK_MEMORY_MIB", 1_024, 2 ** 24],
    ["OUTPOST_TASK_DISK_MIB", 4_096, 2 ** 24],
    ["OUTPOST_TASK_OUTPUT_MIB", 64, 2 ** 20],
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
    return stop("SettingInvalid", `OUTPOST_LISTEN must be host:port, as 127.0.0.1:3460; it is ${JSON.stringify(listen)}`);
  const taskEnv = (env.OUTPOST_TASK_ENV ?? "").split(",").flatMap((name) => name.trim() || []);
  const wrong = taskEnv.find((name) => !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) || WITHHELD.test(name));
  if (wrong !== undefined)
    return stop(
      "SettingInvalid",
      `OUTPOST_TASK_ENV names ${JSON.stringify(wrong)}, which is no variable's name or would give the delegate's token to tasks`,
    );
  const logLevel = env.OUTPOST_LOG_LEVEL || "info";
  if (!["debug", "info", "warn", "error", "silent"].includes(logLevel))
    return stop("SettingInvalid", "OUTPOST_LOG_LEVEL must be debug, info, warn, error or silent");
  const workDir = resolve(env.OUTPOST_WORK_DIR || (inPod ? "/var/lib/outpost" : join(homeOf(env), ".local/share/outpost/delegate")));
  return done({
    endpoint: endpoint.value,
    name: env.DELEGATE_NAME || undefined,
    account: env.ACCOUNT_ID || undefined,
    // Two delegates on one machine have different folders, and so different names.
    instance: env.POD_NAME || `${hostname()}-${createHash("sha256").update(workDir).digest("hex").slice(0, 6)}`,
    workDir,
    listen,
    graceMs: numbers.get("OUTPOST_GRACE_SECONDS")! * 1_000,
    bounds: {
      memoryBytes: numbers.get("OUTPOST_TASK_MEMORY_MIB")! * MIB,
      diskBytes: numbers.get("OUTPOST_TASK_DISK_MIB")! * MIB,
      outputBytes: numbers.get("OUTPOST_TASK_OUTPUT_MIB")! * MIB,
    },
    taskEnv,
    logLevel,
  });
}

const homeOf = (env: NodeJS.ProcessEnv) => (env.HOME && isAbsolute(env.HOME) ? env.HOME : homedir());
