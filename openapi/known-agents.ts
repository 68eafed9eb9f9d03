import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";

// Keys of agents to which this user has sealed credentials, as SSH keeps host keys. A service that is taken over could offer a key of its own and
// read what is sealed to it: a key that differs from the one known here is refused, whatever the service says of the reason.

type Env = Readonly<Record<string, string | undefined>>;

/** What is compared with the agent's log: `SHA256:` and the digest of the raw key. */
export function fingerprintOf(publicKey: string): string {
  const digest = createHash("sha256").update(Buffer.from(publicKey, "base64url")).digest("base64");
  return `SHA256:${digest.replace(/=+$/, "")}`;
}

/** The account of an API key, from its text: what the service says of it could be made up, to seem an agent that is not known. */
export const accountOfKey = (key: string): string => /^opk_([a-z0-9-]+)_/.exec(key)?.[1] ?? "";

/** OUTPOST_KNOWN_AGENTS, else beside the settings of the command line. */
function pathOf(env: Env): { path: string; named: boolean } {
  if (env.OUTPOST_KNOWN_AGENTS) return { path: env.OUTPOST_KNOWN_AGENTS, named: true };
  const settings =
    env.OUTPOST_CONFIG || join(env.XDG_CONFIG_HOME || join(env.HOME || homedir(), ".config"), "outpost", "config.json");
  return { path: join(dirname(settings), "known-agents.json"), named: false };
}

export interface AgentAt {
  endpoint: string;
  account: string;
  org?: string | undefined;
  project?: string | undefined;
  agent: string;
}

export interface Offered extends AgentAt {
  publicKey: string;
}

const nameOf = ({ endpoint, account, org, project, agent }: AgentAt): string =>
  [endpoint.replace(/\/+$/, ""), account, org || "-", project || "-", agent].join(" ");

/** The user has created or deleted the agent: the next key is that of another agent. Failures only leave the old key known. */
export function forgetAgent(env: Env, at: AgentAt): void {
  const { path } = pathOf(env);
  const all = existsSync(path) ? read(path) : {};
  if (typeof all === "string" || all[nameOf(at)] === undefined) return;
  const { [nameOf(at)]: _, ...others } = all;
  write(path, others);
}

/**
 * Compares an agent's key with the one that is known, and remembers the first one. Returns why nothing may be sealed to it, and nothing when all
 * is well. Nothing is remembered where no folder of settings exists and no file is named, as in a fresh CI job.
 */
export function refusedKey(env: Env, { agent, publicKey, ...at }: Offered): string | undefined {
  const { path, named } = pathOf(env);
  if (!named && !existsSync(dirname(path))) return undefined;
  const name = nameOf({ ...at, agent });
  const offered = fingerprintOf(publicKey);
  const all = read(path);
  if (typeof all === "string") return all;
  const known = all[name];
  if (known === offered) return undefined;
  if (known !== undefined && env.OUTPOST_ACCEPT_AGENT_KEY !== offered)
    return (
      `the service offers another key for agent ${agent} than before: ${offered}, while ${path} has ${known}. The holder of the new key can read ` +
      `everything that is sealed to it. If the agent has enrolled again, compare ${offered} with the sealKey in the agent's own log, then run this once with ` +
      `OUTPOST_ACCEPT_AGENT_KEY=${offered}`
    );
  return write(path, { ...all, [name]: offered });
}

function read(path: string): Record<string, string> | string {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT"
      ? {}
      : `the known keys of agents cannot be read: ${(error as Error).message}`;
  }
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, string>;
  } catch {
    // Told below, together with JSON of another shape.
  }
  return `${path} is not a JSON object of known keys of agents: restore it, or move it away and compare each agent's key with its log`;
}

/** In one step without a pause, so that resources which are sealed side by side lose no line; renamed, so that no reader sees half of it. */
function write(path: string, all: Record<string, string>): string | undefined {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileSync(`${path}.${process.pid}`, `${JSON.stringify(all, null, 2)}\n`, { mode: 0o600 });
    renameSync(`${path}.${process.pid}`, path);
    return undefined;
  } catch (error) {
    return `the key of the agent cannot be remembered: ${(error as Error).message}; name another file with OUTPOST_KNOWN_AGENTS`;
  }
}
