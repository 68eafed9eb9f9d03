import { chmod, mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { EXIT, Failure } from "../output/failure.ts";
import type { Io } from "../output/io.ts";

/** What `outpost login` keeps. The provider reads the same file. */
export interface Settings {
  current?: string;
  contexts: Record<string, SignIn>;
}
export interface SignIn {
  endpoint: string;
  apiKey: string;
  org?: string;
  project?: string;
}

/** Where the settings are: OUTPOST_CONFIG, else the user's configuration folder. */
export function settingsPath(env: Io["env"]): string {
  return (
    env.OUTPOST_CONFIG || join(env.XDG_CONFIG_HOME || join(env.HOME || homedir(), ".config"), "outpost", "config.json")
  );
}

export async function readSettings(io: Io): Promise<Settings> {
  const path = settingsPath(io.env);
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return { contexts: {} };
    throw new Failure(`${path} cannot be read: ${(error as Error).message}`);
  }
  try {
    const value = JSON.parse(text) as Settings;
    return { ...value, contexts: value.contexts ?? {} };
  } catch {
    throw new Failure(`${path} is not JSON`, EXIT.failed, { hint: "move it away and run `outpost login` again" });
  }
}

/** Written beside and renamed, so that a reader never sees half of it; only its owner may read it. */
export async function writeSettings(io: Io, settings: Settings): Promise<string> {
  const path = settingsPath(io.env);
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const temporary = `${path}.${process.pid}`;
  await writeFile(temporary, `${JSON.stringify(settings, null, 2)}\n`, { mode: 0o600 });
  await chmod(temporary, 0o600);
  await rename(temporary, path);
  return path;
}

export interface Target {
  endpoint: string;
  apiKey: string | undefined;
  org: string | undefined;
  project: string | undefined;
  context: string | undefined;
}

/** Flags win over the environment, the environment over the chosen context. */
export async function resolveTarget(
  io: Io,
  flags: { endpoint?: string; context?: string; org?: string; project?: string },
): Promise<Target> {
  const settings = await readSettings(io);
  // An empty variable is not set; an empty organization or project means none, whatever the context says.
  const name = flags.context ?? (io.env.OUTPOST_CONTEXT || undefined) ?? settings.current;
  const context = name ? settings.contexts[name] : undefined;
  if ((flags.context || io.env.OUTPOST_CONTEXT) && !context)
    throw new Failure(`there is no context ${JSON.stringify(name)}`, EXIT.usage, { hint: "outpost context list" });
  const endpoint = flags.endpoint ?? (io.env.OUTPOST_ENDPOINT || undefined) ?? context?.endpoint;
  if (!endpoint)
    throw new Failure("no service is known", EXIT.denied, {
      hint: "outpost login ENDPOINT, or set OUTPOST_ENDPOINT and OUTPOST_API_KEY",
    });
  // A context's key is for its own endpoint: it is never sent to another one.
  const ownKey = context && sameOrigin(context.endpoint, endpoint) ? context.apiKey : undefined;
  const org = flags.org ?? io.env.OUTPOST_ORG ?? context?.org;
  const project = flags.project ?? io.env.OUTPOST_PROJECT ?? context?.project;
  return {
    endpoint,
    apiKey: io.env.OUTPOST_API_KEY || ownKey,
    org: org || undefined,
    project: project || undefined,
    context: context ? name : undefined,
  };
}

export function checkEndpoint(text: string): string {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw new Failure(`${JSON.stringify(text)} is not an address`, EXIT.usage, {
      hint: "an address looks like https://outpost.example.com",
    });
  }
  if (url.protocol !== "https:" && url.protocol !== "http:")
    throw new Failure(`${url.protocol}// is not spoken here; use https://`, EXIT.usage);
  if (url.username || url.password) throw new Failure("an address must not carry credentials", EXIT.usage);
  return url.href.replace(/\/+$/, "");
}

function sameOrigin(a: string, b: string): boolean {
  try {
    return new URL(a).origin === new URL(b).origin;
  } catch {
    return false;
  }
}
