import { digest } from "../../base/json/canonical.ts";
import { done, type Outcome, stop } from "../../base/outcome.ts";
import { parseYaml } from "../../kube/yaml.ts";
import { type Announcement, readAnnouncements } from "../repo/plugin/announcement.ts";

/** A command as the file writes it: the first word is the program; nothing is read by a shell that is not named. */
export interface Command {
  command: string[];
  args: string[];
}

/** `argoproj.io/v1alpha1 ConfigManagementPlugin`: a file of the sidecar, no object of a cluster. */
export interface PluginConfig {
  /** `name-version`, or `name`: also that of the socket. */
  name: string;
  init?: Command;
  generate: Command;
  discover?: { fileName?: string; glob?: string; command?: Command };
  /** The parameters that the plugin announces, for user interfaces. */
  parameters: { static: Announcement[]; dynamic?: Command };
  preserveFileMode: boolean;
  provideGitCreds: boolean;
  digest: string;
}

export const CONFIG_INVALID = "PluginConfigInvalid";
const MAX_WORDS = 100;
const MAX_WORD = 100_000;
const NAME = /^[a-z0-9]([a-z0-9.-]{0,126}[a-z0-9])?$/;
// The whole path of a socket ends at 107 bytes.
const MAX_NAME = 60;

type Json = Record<string, unknown>;

/** Reads the file of a plugin; errors name the field. */
export function readConfig(text: string, file: string): Outcome<PluginConfig> {
  const parsed = parseYaml(text, file);
  if (parsed.kind !== "done") return parsed;
  try {
    return done(read(parsed.value));
  } catch (error) {
    return stop(CONFIG_INVALID, `${file}: ${(error as Error).message}`);
  }
}

function read(value: unknown): PluginConfig {
  const file = object(value, "the file");
  if (file.apiVersion !== "argoproj.io/v1alpha1" || file.kind !== "ConfigManagementPlugin")
    throw new Error("is not an argoproj.io/v1alpha1 ConfigManagementPlugin");
  const { name } = object(file.metadata, "metadata");
  const spec = object(file.spec, "spec");
  const version = text(spec.version, "spec.version");
  const full = version ? `${name}-${version}` : name;
  if (typeof name !== "string" || typeof full !== "string" || !NAME.test(full) || full.length > MAX_NAME)
    throw new Error(
      `metadata.name and spec.version must be lower-case letters, digits, - and ., together at most ${MAX_NAME}`,
    );
  const generate = command(spec.generate, "spec.generate");
  if (!generate) throw new Error("spec.generate.command is required");
  const parameters = object(spec.parameters ?? {}, "spec.parameters");
  return {
    name: full,
    init: command(spec.init, "spec.init"),
    generate,
    discover: discovery(spec.discover),
    parameters: {
      static: readAnnouncements(parameters.static ?? [], "spec.parameters.static"),
      dynamic: command(parameters.dynamic, "spec.parameters.dynamic"),
    },
    preserveFileMode: flag(spec.preserveFileMode, "spec.preserveFileMode"),
    provideGitCreds: flag(spec.provideGitCreds, "spec.provideGitCreds"),
    digest: digest(value),
  };
}

function discovery(value: unknown): PluginConfig["discover"] {
  if (value === undefined || value === null) return undefined;
  const discover = object(value, "spec.discover");
  const find = object(discover.find ?? {}, "spec.discover.find");
  const found = {
    fileName: pattern(discover.fileName, "spec.discover.fileName"),
    glob: pattern(find.glob, "spec.discover.find.glob"),
    command: command(find, "spec.discover.find"),
  };
  return found.fileName || found.glob || found.command ? found : undefined;
}

/** A pattern of files below the application's folder. */
function pattern(value: unknown, at: string): string | undefined {
  const given = text(value, at);
  if (given && (given.startsWith("/") || given.split("/").includes("..")))
    throw new Error(`${at} must stay inside the application's folder`);
  return given?.replace(/^(\.\/)+/, "");
}

function command(value: unknown, at: string): Command | undefined {
  if (value === undefined || value === null) return undefined;
  const given = object(value, at);
  const words = (name: string): string[] =>
    list(given[name], `${at}.${name}`).map((word, i) => {
      // Numbers and flags are what a person means by them.
      if (
        !["string", "number", "boolean"].includes(typeof word) ||
        String(word).length > MAX_WORD ||
        String(word).includes("\0")
      )
        throw new Error(`${at}.${name}[${i}] must be a text`);
      return String(word);
    });
  const [made, args] = [words("command"), words("args")];
  return made.length ? { command: made, args } : undefined;
}

function object(value: unknown, at: string): Json {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Error(`${at} must be an object`);
  return value as Json;
}

function list(value: unknown, at: string): unknown[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value) || value.length > MAX_WORDS)
    throw new Error(`${at} must be a list of at most ${MAX_WORDS}`);
  return value;
}

function text(value: unknown, at: string): string | undefined {
  if (value === undefined || value === null || value === "") return undefined;
  if (typeof value !== "string" && typeof value !== "number") throw new Error(`${at} must be a text`);
  return String(value);
}

function flag(value: unknown, at: string): boolean {
  if (value !== undefined && value !== null && typeof value !== "boolean")
    throw new Error(`${at} must be true or false`);
  return value === true;
}
