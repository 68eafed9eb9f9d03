import { join, posix } from "node:path";
import { readJson } from "../../../base/json/nesting.ts";
import { done, type Outcome, stop } from "../../../base/outcome.ts";
import type { KubeObject } from "../../../kube/object.ts";
import { toObjects } from "../../../kube/yaml.ts";
import { type BuildEnv, expand } from "../files/env.ts";
import { extract, newBudget } from "../files/extract.ts";
import type { Tree } from "../git/tree.ts";
import { type JsonnetParameters, type JsonnetVariable, REPO } from "../types.ts";
import { runTool } from "./bounded.ts";
import { importsOf } from "./imports.ts";

// An import of a megabyte is a bundle; parsing takes fifty times its size.
const MAX_FILE = 2_000_000;
const MAX_FILES = 2_000;
const MAX_OUTPUT = 20_000_000;
// Linux takes no longer argument.
const MAX_VALUE = 100_000;

export interface JsonnetSource {
  /** What can be imported, with each file's hash. */
  inputs: { path: string; sha: string }[];
  /** Folders that imports are looked for in, the application's own first. */
  libs: string[];
  extVars: JsonnetVariable[];
  tlas: JsonnetVariable[];
}

/** Finds all that these files may import. An import that leads out of the repository is refused before Jsonnet runs. */
export async function planJsonnet(
  tree: Tree,
  { path, files }: { path: string; files: readonly string[] },
  given: JsonnetParameters,
  env: BuildEnv,
): Promise<Outcome<JsonnetSource>> {
  const libs = [path];
  for (const lib of given.libs ?? []) {
    const found = await tree.find(lib);
    if (found.kind !== "done") return found;
    if (found.value.kind !== "tree") return stop(REPO.path, `jsonnet library ${lib} is a file; give the directory`);
    libs.push(found.value.path);
  }
  const extVars = variables(given.extVars, env);
  const tlas = variables(given.tlas, env);
  const misfit = [...extVars, ...tlas].find(
    ({ name, value = "" }) => !/^[^=\0]+$/.test(name) || value.length > MAX_VALUE,
  );
  if (misfit)
    return stop(
      REPO.jsonnet,
      `the Jsonnet variable ${JSON.stringify(misfit.name?.slice(0, 64))} has no usable name, or a value of more than ${MAX_VALUE} characters`,
    );

  const inputs = new Map<string, string>();
  const pending = [...files];
  // Code that is given as a variable may import too, from the application's folder.
  const codes = [...extVars, ...tlas].filter(({ code }) => code).map(({ value = "" }) => value);
  for (const text of codes) {
    const next = await resolve(tree, ".", importsOf(text), libs, "a variable");
    if (next.kind !== "done") return next;
    pending.push(...next.value);
  }
  for (let file = pending.pop(); file !== undefined; file = pending.pop()) {
    if (inputs.has(file)) continue;
    const found = await tree.find(file);
    if (found.kind !== "done") return found;
    if (found.value.kind !== "blob") continue;
    inputs.set(file, found.value.sha);
    if (inputs.size > MAX_FILES) return stop(REPO.tooLarge, `${path} imports more than ${MAX_FILES} files`);
    const blob = await tree.blob(found.value.sha, file, MAX_FILE);
    if (blob.kind !== "done") return blob;
    const next = await resolve(tree, posix.dirname(file), importsOf(blob.value.toString("utf8")), libs, file);
    if (next.kind !== "done") return next;
    pending.push(...next.value);
  }
  return done({
    inputs: [...inputs].map(([p, sha]) => ({ path: p, sha })).sort((a, b) => (a.path < b.path ? -1 : 1)),
    libs,
    extVars,
    tlas,
  });
}

const variables = (list: JsonnetVariable[] | undefined, env: BuildEnv): JsonnetVariable[] =>
  (list ?? []).map(({ name, value, code }) => ({ name, value: expand(value ?? "", env), ...(code ? { code } : {}) }));

/**
 * The files that these imports mean: Jsonnet looks beside the file that has them, then in its libraries, the last one first. A place out
 * of the repository that would be looked at is refused, whether something is there or not.
 */
async function resolve(
  tree: Tree,
  from: string,
  imports: string[],
  libs: string[],
  who: string,
): Promise<Outcome<string[]>> {
  const paths: string[] = [];
  for (const name of imports) {
    const outside = stop(
      REPO.escape,
      `${who} imports ${JSON.stringify(name.slice(0, 200))}, which is outside the repository`,
    );
    if (name.startsWith("/") || name.includes("\0")) return outside;
    for (const folder of [from, ...libs.toReversed()]) {
      const path = posix.normalize(posix.join(folder || ".", name));
      if (path === ".." || path.startsWith("../")) return outside;
      const found = await tree.find(path);
      if (found.kind === "done") {
        if (found.value.kind === "blob") paths.push(path);
        break;
      }
      if (found.reason !== REPO.path) return found;
    }
  }
  return done(paths);
}

/** Writes what Jsonnet may read below `folder`; nothing else of the repository is there. */
export async function placeJsonnet(tree: Tree, source: JsonnetSource, folder: string): Promise<Outcome<void>> {
  const budget = newBudget();
  for (const { path } of source.inputs) {
    const written = await extract(tree, path, { to: join(folder, "source"), budget });
    if (written.kind !== "done") return written;
  }
  return done(undefined);
}

/** The object, or the list of objects, that one file gives. */
export async function renderJsonnet(
  folder: string,
  file: string,
  source: JsonnetSource,
): Promise<Outcome<KubeObject[]>> {
  const root = join(folder, "source");
  const args = source.libs.flatMap((lib) => ["-J", join(root, lib)]);
  for (const { name, value = "", code } of source.extVars)
    args.push(code ? "--ext-code" : "--ext-str", `${name}=${value}`);
  for (const { name, value = "", code } of source.tlas)
    args.push(code ? "--tla-code" : "--tla-str", `${name}=${value}`);
  const ran = await runTool({
    tool: "jsonnet",
    args: [...args, "--", join(root, file)],
    cwd: root,
    folder,
    reason: REPO.jsonnet,
    what: file,
    maxBytes: MAX_OUTPUT,
  });
  if (ran.kind !== "done") return ran;
  let value: unknown;
  try {
    value = readJson(ran.value.stdout.toString("utf8"));
  } catch {
    return stop(REPO.jsonnet, `${file}: gives no JSON`);
  }
  if (typeof value !== "object") return stop(REPO.manifest, `${file}: gives neither an object nor a list of objects`);
  const objects: KubeObject[] = [];
  for (const one of Array.isArray(value) ? value : [value]) {
    // What an `if` without `else` gives.
    if (one === null) continue;
    const parsed = toObjects(one, file, { nameless: true });
    if (parsed.kind !== "done") return parsed;
    objects.push(...parsed.value);
  }
  return done(objects);
}
