import { readFileSync, statSync } from "node:fs";
import { readDocument } from "../../base/json/nesting.ts";
import { done, type Outcome, stop } from "../../base/outcome.ts";

/** The config file's settings, as environment variables where there is one, so that there is one way to read and refuse them. */
export interface Config {
  /** The environment, completed by what the file says; a variable that is set wins. */
  env: NodeJS.ProcessEnv;
  /** Sources of secrets by name, as `secrets/` reads them. */
  sources: Record<string, unknown>;
  /** The file, when there is one. */
  path?: string;
}

type Read = (value: unknown) => string | undefined;
interface Key {
  variable: string;
  /** The value as the variable's text; undefined when it has another type. */
  read: Read;
  want: string;
  /** Other variables that mean the same, and win too. */
  also?: readonly string[];
}

const DEFAULT_PATH = "/etc/outpost/delegate.yaml";
const MAX_BYTES = 1024 * 1024;

const text: Read = (v) => (typeof v === "string" && v !== "" ? v : undefined);
const number: Read = (v) => (typeof v === "number" && Number.isSafeInteger(v) && v >= 0 ? String(v) : undefined);
const list: Read = (v) =>
  Array.isArray(v) && v.every((x) => typeof x === "string" && !x.includes(",")) ? v.join(",") : undefined;
const key = (variable: string, read: Read, want: string, ...also: string[]): Key => ({ variable, read, want, also });
const TEXT = "a text";
const NUMBER = "a whole number";
const LIST = "a list of texts without commas";

const KEYS: Record<string, Key> = {
  endpoint: key("OUTPOST_ENDPOINT", text, TEXT, "MANAGER_HOST_AND_PORT"),
  caFile: key("OUTPOST_CA_FILE", text, TEXT),
  tokenFile: key("OUTPOST_TOKEN_FILE", text, TEXT, "OUTPOST_TOKEN", "DELEGATE_TOKEN"),
  name: key("DELEGATE_NAME", text, TEXT),
  account: key("ACCOUNT_ID", text, TEXT),
  description: key("DELEGATE_DESCRIPTION", text, TEXT),
  type: key("DELEGATE_TYPE", text, TEXT),
  tags: key("DELEGATE_TAGS", list, LIST),
  capacity: key("DELEGATE_TASK_CAPACITY", number, NUMBER),
  workDir: key("OUTPOST_WORK_DIR", text, TEXT),
  listen: key("OUTPOST_LISTEN", text, TEXT),
  graceSeconds: key("OUTPOST_GRACE_SECONDS", number, NUMBER),
  logLevel: key("OUTPOST_LOG_LEVEL", text, TEXT, "LOGGING_LEVEL"),
  sandbox: key("OUTPOST_SANDBOX", text, "auto, required or off"),
  taskEnv: key("OUTPOST_TASK_ENV", list, LIST),
  "bounds.memoryMiB": key("OUTPOST_TASK_MEMORY_MIB", number, NUMBER),
  "bounds.diskMiB": key("OUTPOST_TASK_DISK_MIB", number, NUMBER),
  "bounds.outputMiB": key("OUTPOST_TASK_OUTPUT_MIB", number, NUMBER),
  "bounds.files": key("OUTPOST_TASK_FILES", number, NUMBER),
  "bounds.processes": key("OUTPOST_TASK_PROCESSES", number, NUMBER),
  "proxy.url": key("HTTPS_PROXY", text, TEXT, "https_proxy", "HTTP_PROXY", "http_proxy", "PROXY_HOST"),
  "proxy.noProxy": key("NO_PROXY", list, LIST, "no_proxy"),
};
const GROUPS = new Set(
  Object.keys(KEYS).flatMap((name) => (name.includes(".") ? [name.slice(0, name.indexOf("."))] : [])),
);
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
// These decide who the delegate is; they are set where it is started, not for tasks.
const OWN = /^(OUTPOST_|DELEGATE_|UPGRADER_)/;

/**
 * Reads OUTPOST_CONFIG_FILE, or /etc/outpost/delegate.yaml where that exists. A key that is not known is refused with its path: a bound that
 * is misspelt would otherwise be ignored without a word.
 */
export function readConfig(env: NodeJS.ProcessEnv, fallback = DEFAULT_PATH): Outcome<Config> {
  const path = env.OUTPOST_CONFIG_FILE || fallback;
  let source: string;
  try {
    if (statSync(path).size > MAX_BYTES) return stop("ConfigInvalid", `${path} has more than 1 MiB`);
    source = readFileSync(path, "utf8");
  } catch (error) {
    if (!env.OUTPOST_CONFIG_FILE && (error as NodeJS.ErrnoException).code === "ENOENT")
      return done({ env, sources: {} });
    return stop("ConfigUnreadable", `OUTPOST_CONFIG_FILE: ${(error as Error).message}`);
  }
  const document = readDocument(source, { logLevel: "silent", uniqueKeys: true });
  const fault = document.errors[0];
  if (fault) return stop("ConfigInvalid", `${path}: ${fault.message.split("\n")[0]}`);
  let root: unknown;
  try {
    root = document.toJS({ maxAliasCount: 20 }) ?? {};
  } catch (error) {
    return stop("ConfigInvalid", `${path}: ${(error as Error).message}`);
  }
  const read = isMap(root) ? fill(env, root) : "it must be a map of settings";
  return typeof read === "string" ? stop("ConfigInvalid", `${path}: ${read}`) : done({ ...read, path });
}

function fill(env: NodeJS.ProcessEnv, root: Record<string, unknown>): Omit<Config, "path"> | string {
  const filled: NodeJS.ProcessEnv = { ...env };
  const set = (at: string, value: unknown): string | undefined => {
    const known = Object.hasOwn(KEYS, at) ? KEYS[at] : undefined;
    if (!known)
      return `${at} is not a setting; the settings are ${Object.keys(KEYS).join(", ")}, labels, env and sources`;
    const textual = known.read(value);
    if (textual === undefined) return `${at} must be ${known.want}`;
    if (![known.variable, ...(known.also ?? [])].some((name) => env[name])) filled[known.variable] = textual;
    return undefined;
  };
  const more: string[] = [];
  for (const [name, value] of Object.entries(root)) {
    let wrong: string | undefined;
    if (name === "sources") wrong = isMap(value) ? undefined : "sources must be a map";
    else if (name === "labels") wrong = labels(value, env, filled);
    else if (name === "env") wrong = variables(value, env, filled, more);
    else if (!GROUPS.has(name)) wrong = set(name, value);
    else if (!isMap(value)) wrong = `${name} must be a map`;
    else for (const [inner, given] of Object.entries(value)) wrong ??= set(`${name}.${inner}`, given);
    if (wrong) return wrong;
  }
  if (more.length) filled.OUTPOST_TASK_ENV = [filled.OUTPOST_TASK_ENV, ...more].filter(Boolean).join(",");
  return { env: filled, sources: (root.sources as Record<string, unknown> | undefined) ?? {} };
}

/** A label `team: payments` is the tag `team:payments`, beside the tags that are given as such. */
function labels(value: unknown, env: NodeJS.ProcessEnv, filled: NodeJS.ProcessEnv): string | undefined {
  if (!isMap(value)) return "labels must be a map";
  for (const [name, given] of Object.entries(value))
    if (typeof given !== "string") return `labels.${name} must be a text`;
  filled.OUTPOST_LABELS =
    env.OUTPOST_LABELS ||
    Object.entries(value)
      .map(([name, given]) => `${name}:${given}`)
      .join(",");
  return undefined;
}

/** Variables for tasks. */
function variables(
  value: unknown,
  env: NodeJS.ProcessEnv,
  filled: NodeJS.ProcessEnv,
  names: string[],
): string | undefined {
  if (!isMap(value)) return "env must be a map";
  for (const [name, given] of Object.entries(value)) {
    if (!NAME.test(name) || OWN.test(name)) return `env.${name} is not a name that tasks may be given`;
    if (typeof given !== "string") return `env.${name} must be a text`;
    filled[name] = env[name] || given;
    names.push(name);
  }
  return undefined;
}

const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
