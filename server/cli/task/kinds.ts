import document from "../../../openapi/contract/openapi.json" with { type: "json" };
import { looksLikeReference } from "../../../openapi/rules/tasks/references.ts";
import { parseExactJson } from "../output/exact.ts";
import { Failure, usage } from "../output/failure.ts";
import { type Flag, flagsOf, resolve } from "../output/flags.ts";
import type { Json } from "../show.ts";

const schemas = document.components.schemas as unknown as Record<string, Json>;
/** A text of this length is a script or a manifest: it may come from a file. */
const LONG = 65_536;

/** One kind of task, as the contract describes it. */
export interface TaskKindInfo {
  name: string;
  description: string;
  /** Its parameters by their first name. */
  properties: Record<string, Json>;
  required: string[];
  flags: KindFlag[];
}
export interface KindFlag extends Flag {
  /** Its value is a secret: only a reference to one is taken, as the service stores what it is given. */
  sensitive: boolean;
  /** `--NAME-file` reads it from a file. */
  long: boolean;
}

/** What every task has besides its kind and parameters. */
export const COMMON = flagsOf("TaskRequest").filter((f) => !["kind", "params"].includes(f.path[0]!));

/** Words that mean something else on the same command line. */
const TAKEN = new Set([
  ...["org", "project", "context", "endpoint", "output", "help", "follow", "param", "params-file"],
  ...COMMON.map((flag) => flag.name),
]);

export const KINDS: TaskKindInfo[] = (schemas.TaskKind!.enum as string[]).map(kindOf);

function kindOf(name: string): TaskKindInfo {
  const schemaName = `TaskParams${name
    .split(".")
    .map((part) => part[0]!.toUpperCase() + part.slice(1))
    .join("")}`;
  const schema = resolve(schemas[schemaName]!);
  const used = new Set(TAKEN);
  const flags = flagsOf(schemaName).map((flag): KindFlag => {
    const sensitive = flag.kind === "secret";
    const help = sensitive
      ? `${flag.help ? `${flag.help.replace(/\.$/, "")}, ` : ""}as \${secret:SOURCE/PATH#KEY}`
      : flag.help;
    // `context` is a sign-in to everybody else: it becomes `build-context`.
    const short = sensitive ? flag.name.replace(/-file$/, "") : flag.name;
    const whole = flag.path.map(dashed).join("-");
    const free = [short, whole, `${dashed(name.split(".")[1]!)}-${whole}`].find((word) => !used.has(word))!;
    used.add(free);
    return {
      ...flag,
      name: free,
      help,
      kind: sensitive ? "text" : flag.kind,
      sensitive,
      long: !sensitive && isLong(schema, flag.path),
    };
  });
  return {
    name,
    description: schema.description ?? "",
    properties: schema.properties ?? {},
    required: schema.required ?? [],
    flags,
  };
}

function isLong(schema: Json, path: readonly string[]): boolean {
  const field = path.reduce<Json | undefined>((at, key) => at && resolve(at.properties?.[key] ?? {}), schema);
  return path.length === 1 && field?.type === "string" && (field.maxLength ?? 0) >= LONG;
}

function dashed(word: string): string {
  return word.replace(/[A-Z]/g, (c) => `-${c.toLowerCase()}`);
}

/** `--param path=value`: a text where the kind wants one, else JSON where it reads as such. */
export function setParam(kind: TaskKindInfo, params: Json, given: string): void {
  const at = given.indexOf("=");
  if (at < 1) throw usage(`--param takes path=value, not ${JSON.stringify(given)}`);
  const path = given.slice(0, at).split(".");
  const text = given.slice(at + 1);
  const [head] = path;
  if (!Object.hasOwn(kind.properties, head!)) throw usage(unknownParam(kind, head!));
  const flag = kind.flags.find((f) => f.path.join(".") === path.join("."));
  let value: unknown = text;
  if (flag?.kind !== "text")
    try {
      value = parseExactJson(text, "--param");
    } catch (error) {
      if (error instanceof Failure) throw error;
      // Not JSON: the text itself.
    }
  let object = params;
  for (const key of path.slice(0, -1)) {
    if (key === "__proto__" || key === "constructor") throw usage(`${path.join(".")} is not a parameter`);
    if (object[key] === undefined) object[key] = {};
    object = object[key];
    if (object === null || typeof object !== "object")
      throw usage(`${path.join(".")} is inside of something that is not an object`);
  }
  object[path.at(-1)!] = value;
}

export function unknownParam(kind: TaskKindInfo, name: string): string {
  const near = nearest(name, Object.keys(kind.properties));
  return `${kind.name} has no parameter ${JSON.stringify(name)}${near ? `; did you mean ${near}` : ""} (outpost task kinds ${kind.name})`;
}

/** Refuses what the service would have to refuse too, or would store though it must not. */
export function checkParams(kind: TaskKindInfo, params: Json): void {
  for (const name of Object.keys(params))
    if (!Object.hasOwn(kind.properties, name)) throw usage(unknownParam(kind, name));
  const missing = kind.required.filter((name) => params[name] === undefined);
  if (missing.length > 0)
    throw usage(`${missing.map((name) => hint(kind, name)).join(", ")} ${missing.length > 1 ? "are" : "is"} missing`);
  for (const flag of kind.flags.filter((f) => f.sensitive)) {
    const value = flag.path.reduce<unknown>((at, key) => (at as Json | undefined)?.[key], params);
    if (typeof value === "string" && !looksLikeReference(value))
      throw usage(
        `${flag.path.join(".")} is a secret, and the service keeps what it is given: name it as \${secret:SOURCE/PATH#KEY}, and the delegate puts it in`,
      );
  }
}

function hint(kind: TaskKindInfo, name: string): string {
  const flags = kind.flags.filter((f) => f.path[0] === name);
  if (flags.length === 0) return `--param ${name}=JSON`;
  const [first] = flags;
  return `--${first!.name}${first!.long ? ` or --${first!.name}-file` : ""}${flags.length > 1 ? ` (or another of ${name})` : ""}`;
}

function nearest(word: string, among: readonly string[]): string | undefined {
  const begins = among.find((other) => other.toLowerCase().startsWith(word.toLowerCase().slice(0, 3)));
  return among.find((other) => other.toLowerCase() === word.toLowerCase()) ?? begins;
}
