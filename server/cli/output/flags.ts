import { type Command, Option } from "commander";
import document from "../../../openapi/contract/openapi.json" with { type: "json" };
import type { Json } from "../show.ts";
import { parseExact, parseExactJson } from "./exact.ts";
import { Failure, usage } from "./failure.ts";
import { type Io, readInput } from "./io.ts";

/** One field of the contract that a person may give as a flag. */
export interface Flag {
  name: string;
  /** Where the value goes in the object. */
  path: string[];
  kind: "text" | "number" | "boolean" | "list" | "map" | "secret" | "file" | "document";
  help: string;
  choices?: string[];
  /** What the service takes when the flag is not given. */
  default?: string;
}

/** Shorter words for what people write most; a longer path beats a shorter one, and an empty word leaves the level out. */
const WORDS: Record<string, string> = {
  source: "",
  "source.targetRevision": "revision",
  destination: "dest",
  syncPolicy: "",
  "syncPolicy.automated": "auto",
  "syncPolicy.automated.enabled": "auto-sync",
  "syncPolicy.syncOptions": "sync-options",
  "syncPolicy.managedNamespaceMetadata": "dest-namespace",
  credentials: "",
  // `--no-…` takes a flag back.
  noProxy: "proxy-except",
};

/** A text that may be this long is mostly in a file: a certificate, a key, values. */
const FILE_FROM = 16_384;

const schemas = document.components.schemas as unknown as Record<string, Json>;

/** The flags of a schema, from the contract: every scalar, list of texts and map of texts in it, at any depth. */
export const flagsOf = (schema: string): Flag[] =>
  specFlagsOf(schema).filter(({ kind }) => kind !== "file" && kind !== "document");

/** The same, and a file for each long text and for each object or list that has no flags of its own. */
export const specFlagsOf = (schema: string): Flag[] => walk(resolve({ $ref: `#/components/schemas/${schema}` }), []);

function walk(schema: Json, path: string[]): Flag[] {
  return Object.entries<Json>(schema.properties ?? {}).flatMap(([key, raw]) => {
    const field = resolve(raw);
    const at = [...path, key];
    if (raw["x-internal"]) return [];
    const help = raw.description ?? field.description ?? "";
    const flag = (kind: Flag["kind"]): Flag[] => [
      {
        name: flagName(at),
        path: at,
        kind,
        help,
        ...(field.enum ? { choices: field.enum } : {}),
        ...defaultOf(raw.default ?? field.default),
      },
    ];
    if (field["x-sensitive"] || raw["x-sensitive"]) return inFile(flag("secret"));
    if (field.type === "string")
      return field.maxLength >= FILE_FROM ? [...flag("text"), ...inFile(flag("file"))] : flag("text");
    if (field.type === "integer" || field.type === "number") return flag("number");
    if (field.type === "boolean") return flag("boolean");
    if (field.type === "array" && resolve(field.items ?? {}).type === "string") return flag("list");
    if (field.type === "object" && field.additionalProperties?.type === "string") return flag("map");
    if (field.type === "object" && field.properties) return walk(field, at);
    // Lists of objects are many and deep: only those at the top are worth a flag. `--set` and files take the others.
    if (field.type === "object" || (field.type === "array" && path.length === 0)) return inFile(flag("document"));
    return [];
  });
}

const defaultOf = (value: unknown): Pick<Flag, "default"> =>
  value === undefined || value === "" || typeof value === "object" ? {} : { default: String(value) };

const inFile = (flags: Flag[]): Flag[] => flags.map((f) => ({ ...f, name: `${f.name}-file` }));

function flagName(path: string[]): string {
  const parts: string[] = [];
  for (let end = path.length; end > 0; end--) {
    // The longest prefix with a word of its own is used.
    const word = WORDS[path.slice(0, end).join(".")];
    if (word !== undefined) return [word, ...parts].filter(Boolean).join("-");
    parts.unshift(path[end - 1]!.replace(/[A-Z]/g, (c) => `-${c.toLowerCase()}`));
  }
  return parts.join("-");
}

/** Adds the flags to a command. */
export function addFlags(command: Command, flags: readonly Flag[]): Command {
  for (const flag of flags) {
    const help = flag.help
      .replace(/\s*\n\s*/g, " ")
      .replace(/[.;:] .*$/s, "")
      .replace(/\.$/, "");
    const option = (text: string, more = "") =>
      new Option(text, `${help}${more}${flag.default === undefined ? "" : ` (default: ${flag.default})`}`.trim());
    if (flag.kind === "boolean") {
      command.addOption(option(`--${flag.name}`)).addOption(new Option(`--no-${flag.name}`).hideHelp());
      continue;
    }
    const made = option(`--${flag.name} ${SHAPES[flag.kind]}`, HINTS[flag.kind]);
    if (flag.choices) made.choices(flag.choices);
    if (flag.kind === "number") made.argParser((text) => number(flag, text));
    if (flag.kind === "list")
      made.argParser((text, before: string[] | undefined) => [...(before ?? []), ...text.split(",").filter(Boolean)]);
    if (flag.kind === "map")
      made.argParser((text, before: Record<string, string> | undefined) => ({ ...before, ...pair(flag, text) }));
    command.addOption(made);
  }
  return command;
}

const SHAPES: Record<Exclude<Flag["kind"], "boolean">, string> = {
  text: "<text>",
  number: "<n>",
  list: "<a,b>",
  map: "<key=value>",
  secret: "<file>",
  file: "<file>",
  document: "<file>",
};
const HINTS: Partial<Record<Flag["kind"], string>> = {
  secret: " (read from a file, `-` for standard input)",
  file: " (read from a file)",
  document: " (YAML or JSON in a file)",
};

/** The object that the given flags describe; secrets and long texts are read from their files. */
export async function objectOf(io: Io, flags: readonly Flag[], given: Record<string, unknown>): Promise<Json> {
  const object: Json = {};
  for (const flag of flags) {
    const value = given[flag.name.replace(/-([a-z0-9])/g, (_, c: string) => c.toUpperCase())];
    if (value === undefined) continue;
    put(object, flag.path, await givenValue(io, flag, value));
  }
  return object;
}

async function givenValue(io: Io, { kind, name }: Flag, value: unknown): Promise<unknown> {
  if (kind !== "secret" && kind !== "file" && kind !== "document") return value;
  const read = await readInput(io, value as string);
  if (kind === "secret") return read.replace(/\r?\n$/, "");
  if (kind === "file") return read;
  try {
    return parseExact(read, `--${name}`);
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw usage(`--${name}: ${String(value)} is neither YAML nor JSON: ${(error as Error).message.split("\n")[0]}`);
  }
}

/** `--set a.b.c=value`: the value is JSON where it reads as such, else text; `null` removes a field in a patch. */
export function setPath(object: Json, text: string): void {
  const at = text.indexOf("=");
  if (at < 1) throw usage(`--set takes path=value, not ${JSON.stringify(text)}`);
  const raw = text.slice(at + 1);
  let value: unknown = raw;
  try {
    value = parseExactJson(raw, "--set");
  } catch (error) {
    if (error instanceof Failure) throw error;
    // Not JSON: the text itself.
  }
  // `spec.` in front is meant as in a file; no specification has a field of that name.
  put(
    object,
    text
      .slice(0, at)
      .replace(/^\.?spec\./, "")
      .split("."),
    value,
  );
}

function put(object: Json, path: readonly string[], value: unknown): void {
  if (path.some((key) => key === "__proto__" || key === "constructor" || key === ""))
    throw usage(`${path.join(".")} is not a field`);
  let at = object;
  for (const key of path.slice(0, -1)) {
    at[key] ??= {};
    at = at[key];
  }
  at[path.at(-1)!] = value;
}

function number(flag: Flag, text: string): number {
  if (!/^-?[0-9]{1,15}$/.test(text)) throw usage(`--${flag.name} takes a whole number, not ${JSON.stringify(text)}`);
  return Number(text);
}
function pair(flag: Flag, text: string): Record<string, string> {
  const at = text.indexOf("=");
  if (at < 1) throw usage(`--${flag.name} takes key=value, not ${JSON.stringify(text)}`);
  return { [text.slice(0, at)]: text.slice(at + 1) };
}

/** A schema with what it refers to and what it is made of (`allOf`) put together. */
export function resolve(schema: Json): Json {
  const named = schema.$ref ? resolve(schemas[schema.$ref.split("/").pop()!] ?? {}) : schema;
  if (!named.allOf) return named;
  const parts: Json[] = [...named.allOf.map(resolve), { ...named, allOf: undefined }];
  return {
    ...named,
    allOf: undefined,
    properties: Object.assign({}, ...parts.map((part) => part.properties)),
    required: parts.flatMap((part) => part.required ?? []),
  };
}
