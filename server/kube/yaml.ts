import { Composer, type Document, Lexer, type ScalarTag, type Tags } from "yaml";
import { readJson, yamlTokens } from "../base/json/nesting.ts";
import { collectionKey } from "../base/json/yaml-keys.ts";
import { done, type Failure, type Outcome, stop } from "../base/outcome.ts";
import type { KubeObject } from "./object.ts";

/** Reason of a text that is no list of objects; a constant for machines. */
export const MANIFEST_INVALID = "ManifestInvalid";

// A manifest of 2,000 documents is 40 Helm charts; aliases beyond 200 copies are a bomb.
const MAX_DOCUMENTS = 20_000;
const MAX_ALIASES = 200;

// What the ecosystem's parser does not read as dates or ordered maps; numbers it reads by rules of its own.
const UNUSED = new Set(
  ["timestamp", "omap", "pairs", "set", "int", "float", "binary"].map((name) => `tag:yaml.org,2002:${name}`),
);

// Beyond it the ecosystem has no whole numbers either.
const INT64 = 2 ** 63;

/** A text that looks like a number but is too great for one stays a text. One whose digits would change is refused, as the change would go unseen. */
const number = (name: "int" | "float", test: RegExp, read: (digits: string) => number): ScalarTag => ({
  tag: `tag:yaml.org,2002:${name}`,
  default: true,
  test,
  resolve: (text, fail) => {
    const digits = text.replaceAll("_", "");
    const value = read(digits);
    if (name === "int" && !isKept(digits, value)) fail(unkept(text));
    return Number.isFinite(value) ? value : text;
  },
});

/** Whether a whole number is written back with the digits that it has; those of other bases are not looked at one by one. */
function isKept(digits: string, value: number): boolean {
  if (Number.isSafeInteger(value) || Math.abs(value) > INT64) return true;
  return /^[-+]?[1-9]\d*$/.test(digits) && String(value) === digits.replace("+", "");
}

const unkept = (digits: string) =>
  `${digits} has more digits than a number here keeps: write it as a text, if its kind takes one`;

/** The same of a JSON text, whose strings may have what they like. */
function lostDigits(text: string): string | undefined {
  if (!/\d{16}/.test(text)) return undefined;
  const numbers = text.replace(/"(?:[^"\\]|\\.)*"/g, "").match(/(?<![\d.eE+-])-?\d{16,}(?![\d.eE])/g) ?? [];
  const lost = numbers.find((digits) => !isKept(digits, Number(digits)));
  return lost && unkept(lost);
}

const toBase = (base: number) => (digits: string) => Number.parseInt(digits.replace(/0[bBoOxX]/, ""), base);

/** `.` is a path and `e5` a commit: both have no digit where a number has one. */
const NUMBERS: ScalarTag[] = [
  number("int", /^[-+]?0[bB]_*[01][01_]*$/, toBase(2)),
  number("int", /^[-+]?0[oO]_*[0-7][0-7_]*$/, toBase(8)),
  number("int", /^[-+]?0[0-7_]+$/, toBase(8)),
  number("int", /^[-+]?[0-9][0-9_]*$/, toBase(10)),
  number("int", /^[-+]?0[xX]_*[0-9a-fA-F][0-9a-fA-F_]*$/, toBase(16)),
  number("float", /^[-+]?(?:\.[0-9][0-9_]*|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?$/, Number),
  {
    tag: "tag:yaml.org,2002:float",
    default: true,
    test: /^(?:[-+]?\.(?:inf|Inf|INF)|\.nan|\.NaN|\.NAN)$/,
    resolve: (text, fail) => {
      fail("a number without end has no place in JSON");
      return text;
    },
  },
];
const BINARY: ScalarTag = {
  tag: "tag:yaml.org,2002:binary",
  resolve: (text) => Buffer.from(text, "base64").toString("utf8"),
};

/** Scalars as the ecosystem's parser reads them, with version 1.1 of YAML. */
export const customTags = (tags: Tags): Tags => [
  ...NUMBERS,
  BINARY,
  ...tags.filter((tag) => typeof tag === "string" || !UNUSED.has(tag.tag)),
];

export interface ManifestOptions {
  /** Objects without a name pass: what becomes of them is the caller's business. */
  nameless?: boolean;
}

/** Every object of a multi-document YAML or JSON text, lists expanded; `file` is for the message alone. */
export function parseManifests(text: string, file: string, options: ManifestOptions = {}): Outcome<KubeObject[]> {
  const { objects, failure } = parseSome(text, file, options);
  return failure ?? done(objects);
}

/** The objects up to the first document that is not an object. */
export function parseSome(
  text: string,
  file: string,
  options: ManifestOptions = {},
): { objects: KubeObject[]; failure?: Failure } {
  const objects: KubeObject[] = [];
  const invalid = (why: string) => ({ objects, failure: stop(MANIFEST_INVALID, `${file}: ${why}`) });
  for (const [index, document] of documents(text).entries()) {
    if (index >= MAX_DOCUMENTS) return invalid(`more than ${MAX_DOCUMENTS} documents`);
    if (document instanceof Error) return invalid(document.message);
    if (document === null || document === undefined) continue;
    const failed = collect(document, objects, options);
    if (failed) return invalid(failed);
  }
  return { objects };
}

/** A JSON file holds exactly one object. */
export function parseJson(text: string, file: string, options: ManifestOptions = {}): Outcome<KubeObject[]> {
  const objects: KubeObject[] = [];
  try {
    const value: unknown = readJson(text);
    const failed = lostDigits(text) ?? collect(value, objects, options);
    return failed ? stop(MANIFEST_INVALID, `${file}: ${failed}`) : done(objects);
  } catch {
    return stop(MANIFEST_INVALID, `${file}: is not one JSON object`);
  }
}

/** The object that a value is, or the objects of the list that it is. */
export function toObjects(value: unknown, file: string, options: ManifestOptions = {}): Outcome<KubeObject[]> {
  const objects: KubeObject[] = [];
  const failed = collect(value, objects, options);
  return failed ? stop(MANIFEST_INVALID, `${file}: ${failed}`) : done(objects);
}

/** One YAML document as a plain value, for files that are no manifests (kustomization, Chart.yaml). */
export function parseYaml(text: string, file: string): Outcome<unknown> {
  const first = documents(text)[0];
  return first instanceof Error ? stop(MANIFEST_INVALID, `${file}: ${first.message}`) : done(first ?? {});
}

/** The parts of the lexer that its types do not show: the indentation that the next line must have, and what reads brackets and quotes. */
interface LexerParts {
  indentNext: number;
  parseFlowCollection(): Generator<string, unknown, unknown>;
  parseQuotedScalar(): Generator<string, unknown, unknown>;
}

/** A lexer for which the lines inside brackets and quotes may begin further left than YAML allows, as in Kubernetes' parser: charts do so. */
function looseLexer(): Lexer {
  const lexer = new Lexer() as unknown as LexerParts;
  for (const part of ["parseFlowCollection", "parseQuotedScalar"] as const) {
    const strict = lexer[part].bind(lexer);
    lexer[part] = function* () {
      const { indentNext } = lexer;
      lexer.indentNext = 0;
      const next = yield* strict();
      lexer.indentNext = indentNext;
      return next;
    };
  }
  return lexer as unknown as Lexer;
}

function documents(text: string): (unknown | Error)[] {
  let parsed: Document[];
  try {
    // The version makes `yes`, `on` and 0644 mean what Kubernetes reads in them.
    const composer = new Composer({
      version: "1.1",
      customTags,
      uniqueKeys: false,
      logLevel: "silent",
      prettyErrors: false,
    });
    parsed = [...composer.compose(yamlTokens(text, looseLexer()))] as Document[];
  } catch (error) {
    return [error as Error];
  }
  return parsed.map((document) => {
    const problem = document.errors[0];
    if (problem) return new Error(`line ${lineOf(text, problem.pos[0])}: ${problem.message}`);
    try {
      const key = collectionKey(document.contents);
      if (key)
        return new Error(
          `line ${lineOf(text, key.range?.[0] ?? 0)}: a map or a list is not a key; is a template left in it?`,
        );
      return document.toJS({ maxAliasCount: MAX_ALIASES });
    } catch (error) {
      return error as Error;
    }
  });
}

function collect(value: unknown, into: KubeObject[], options: ManifestOptions): string | undefined {
  const object = value as KubeObject;
  if (typeof value !== "object" || value === null || Array.isArray(value)) return "a document is not an object";
  if (Object.keys(value).length === 0) return undefined;
  if (typeof object.kind !== "string" || !object.kind) return "an object has no kind";
  if (typeof object.apiVersion !== "string" || !object.apiVersion) return `${object.kind} has no apiVersion`;
  if (isList(object)) {
    for (const item of object.items ?? []) {
      const failed = collect(item, into, options);
      if (failed) return failed;
    }
    return undefined;
  }
  const metadata: unknown = object.metadata ?? {};
  if (typeof metadata !== "object" || Array.isArray(metadata)) return `${object.kind}: metadata is not an object`;
  const { name, generateName } = metadata as { name?: unknown; generateName?: unknown };
  if (options.nameless) {
    if (![name, generateName].every((given) => given === undefined || given === null || typeof given === "string"))
      return `${object.kind}: metadata.name is not a text; put it in quotes`;
    into.push(object.metadata ? object : { ...object, metadata: {} as KubeObject["metadata"] });
    return undefined;
  }
  if (typeof name !== "string" && typeof generateName !== "string") return `${object.kind} has no metadata.name`;
  into.push(object);
  return undefined;
}

/** Items make a list, whatever its kind is called, as `kubectl` reads it; without any it is one unless it has what only an object has. */
const isList = ({ items, spec, status }: KubeObject): boolean =>
  Array.isArray(items) || (items === null && spec === undefined && status === undefined);

const lineOf = (text: string, at: number): number => text.slice(0, at).split("\n").length;
