import { type Document, parseAllDocuments, type Tags } from "yaml";
import { done, type Outcome, stop } from "../../base/outcome.ts";
import type { KubeObject } from "../kube/object.ts";
import { REPO } from "./types.ts";

// A manifest of 2,000 documents is 40 Helm charts; aliases beyond 200 copies are a bomb.
const MAX_DOCUMENTS = 20_000;
const MAX_ALIASES = 200;

// What the ecosystem's parser does not read as numbers or dates: 12:30:45, 2001-12-14, ordered maps.
const UNUSED = new Set(["tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:omap", "tag:yaml.org,2002:pairs", "tag:yaml.org,2002:set"]);
const customTags = (tags: Tags): Tags => tags.filter((tag) => typeof tag === "string" || !(UNUSED.has(tag.tag) || tag.format === "TIME"));

/** Every object of a multi-document YAML or JSON text, lists expanded; `file` is for the message alone. */
export function parseManifests(text: string, file: string): Outcome<KubeObject[]> {
  const objects: KubeObject[] = [];
  const invalid = (why: string) => stop(REPO.manifest, `${file}: ${why}`);
  for (const [index, document] of documents(text).entries()) {
    if (index >= MAX_DOCUMENTS) return invalid(`more than ${MAX_DOCUMENTS} documents`);
    if (document instanceof Error) return invalid(document.message);
    if (document === null || document === undefined) continue;
    const failed = collect(document, objects);
    if (failed) return invalid(failed);
  }
  return done(objects);
}

/** A JSON file holds exactly one object. */
export function parseJson(text: string, file: string): Outcome<KubeObject[]> {
  const objects: KubeObject[] = [];
  try {
    const failed = collect(JSON.parse(text), objects);
    return failed ? stop(REPO.manifest, `${file}: ${failed}`) : done(objects);
  } catch {
    return stop(REPO.manifest, `${file}: is not one JSON object`);
  }
}

/** One YAML document as a plain value, for files that are no manifests (kustomization, Chart.yaml). */
export function parseYaml(text: string, file: string): Outcome<unknown> {
  const first = documents(text)[0];
  return first instanceof Error ? stop(REPO.manifest, `${file}: ${first.message}`) : done(first ?? {});
}

function documents(text: string): (unknown | Error)[] {
  let parsed: Document[];
  try {
    // The version makes `yes`, `on` and 0644 mean what Kubernetes reads in them.
    parsed = [
      ...parseAllDocuments(text, { version: "1.1", customTags, uniqueKeys: false, logLevel: "silent", prettyErrors: false }),
    ] as Document[];
  } catch {
    // The parser recurses; only hundreds of nested levels bring it to its end.
    return [new Error("nested too deeply")];
  }
  return parsed.map((document) => {
    const problem = document.errors[0];
    if (problem) return new Error(`line ${lineOf(text, problem.pos[0])}: ${problem.message}`);
    try {
      return document.toJS({ maxAliasCount: MAX_ALIASES });
    } catch (error) {
      return error as Error;
    }
  });
}

function collect(value: unknown, into: KubeObject[]): string | undefined {
  const object = value as KubeObject;
  if (typeof value !== "object" || value === null || Array.isArray(value)) return "a document is not an object";
  if (Object.keys(value).length === 0) return undefined;
  if (typeof object.kind !== "string" || !object.kind) return "an object has no kind";
  if (typeof object.apiVersion !== "string" || !object.apiVersion) return `${object.kind} has no apiVersion`;
  if (object.kind.endsWith("List") && Array.isArray(object.items)) {
    for (const item of object.items) {
      const failed = collect(item, into);
      if (failed) return failed;
    }
    return undefined;
  }
  const { name, generateName } = object.metadata ?? {};
  if (typeof name !== "string" && typeof generateName !== "string") return `${object.kind} has no metadata.name`;
  into.push(object);
  return undefined;
}

const lineOf = (text: string, at: number): number => text.slice(0, at).split("\n").length;
