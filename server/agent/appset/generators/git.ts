import { done, type Outcome, stop } from "../../../base/outcome.ts";
import { addValues, flatten, type Params } from "../parameters/params.ts";
import { matchPath } from "../parameters/path.ts";
import { text } from "../template/format.ts";
import { readYaml } from "../template/sprig/encode.ts";
import { normalize } from "../template/sprig/names.ts";
import { base, dir } from "../template/sprig/paths.ts";
import { byBytes, fromJson, isMap, TemplateError, type Value, type ValueMap } from "../template/value.ts";
import { APPSET, type Free } from "../types.ts";
import type { Generate, GeneratorContext } from "./context.ts";

interface PathItem {
  path: string;
  exclude?: boolean;
}

/** `git`: folders of a repository, or what its files say. */
export const git: Generate = async (settings, context) => {
  const { repoURL = "", revision = "", directories = [], files = [] } = settings;
  const at = { repoURL, revision, fresh: context.fresh, project: context.project };
  if (directories.length) {
    const all = await context.world.directories(at);
    if (all.kind !== "done") return all;
    const wanted = all.value.filter((path) => included(directories, path));
    return done(wanted.map((path) => finish(new Map(), pathParams(path), settings, context)));
  }
  if (!files.length)
    return stop(APPSET.params, "ApplicationSet is empty: the git generator has neither directories nor files");
  const pick = (exclude: boolean) =>
    (files as PathItem[]).filter((item) => Boolean(item.exclude) === exclude).map((item) => item.path);
  const found = await context.world.files(at, { include: pick(false), exclude: pick(true) });
  if (found.kind !== "done") return found;
  const params: Params[] = [];
  for (const path of [...found.value.keys()].sort(byBytes)) {
    const read = fileParams(path, found.value.get(path)!);
    if (read.kind !== "done") return read;
    for (const one of read.value)
      params.push(
        finish(context.how.goTemplate ? one : asText(one), pathParams(dir(path), base(path)), settings, context),
      );
  }
  return done(params);
};

/** An exclusion wins over every inclusion. */
function included(items: PathItem[], path: string): boolean {
  const fitting = items.filter((item) => matchPath(item.path, path));
  return fitting.length > 0 && !fitting.some((item) => item.exclude);
}

function pathParams(path: string, filename?: string): ValueMap {
  const basename = base(path);
  const params: ValueMap = new Map<string, Value>([
    ["path", path],
    ["basename", basename],
    ["basenameNormalized", normalize(basename)],
    ["segments", path.split("/")],
  ]);
  if (filename !== undefined) {
    params.set("filename", filename);
    params.set("filenameNormalized", normalize(filename));
  }
  return params;
}

function finish(
  params: Params,
  path: ValueMap,
  { pathParamPrefix: prefix, values }: Free,
  { how }: GeneratorContext,
): Params {
  if (how.goTemplate) {
    if (prefix) params.set(prefix, new Map([["path", path]]));
    else params.set("path", path);
  } else {
    const name = prefix ? `${prefix}.path` : "path";
    for (const [key, value] of path) {
      if (key === "path") params.set(name, value);
      else if (key !== "segments") params.set(`${name}.${key}`, value);
      else for (const [i, segment] of (value as string[]).entries()) if (segment) params.set(`${name}[${i}]`, segment);
    }
  }
  addValues(values, params, how);
  return params;
}

/** A file holds one object or a list of them; an empty one counts as one object without fields. */
function fileParams(path: string, content: string): Outcome<Params[]> {
  try {
    const read = fromJson(readYaml(content) ?? {});
    const all = Array.isArray(read) ? read : [read];
    if (all.every(isMap)) return done(all as Params[]);
    return stop(
      APPSET.params,
      `unable to process file '${path}': unable to parse file: neither an object nor a list of objects`,
    );
  } catch (error) {
    if (error instanceof TemplateError)
      return stop(APPSET.params, `unable to process file '${path}': unable to parse file: ${error.message}`);
    throw error;
  }
}

const asText = (params: Params): Params => new Map([...flatten(params)].map(([key, value]) => [key, text(value)]));
