import { mkdtemp, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { readJson } from "../../../base/json/nesting.ts";
import { done, type Outcome, stop } from "../../../base/outcome.ts";
import type { Budget } from "../files/extract.ts";
import { untar } from "../files/untar.ts";
import { BOUNDS } from "../git/tree.ts";
import { REPO } from "../types.ts";

const MAX_NESTING = 8;
const MAX_SCHEMA = 4_000_000;

/**
 * Makes a chart on disk safe to load: packed subcharts are unpacked here, where their size and paths are judged, and a schema that helm
 * would fetch from somewhere else is refused.
 */
export async function openSubcharts(
  chart: string,
  budget: Budget,
  skipSchemas: boolean,
  depth = 0,
): Promise<Outcome<void>> {
  if (depth > MAX_NESTING) return stop(REPO.tooLarge, `the chart has charts in charts, more than ${MAX_NESTING} deep`);
  if (!skipSchemas) {
    const schema = await schemaOf(chart);
    if (schema) return schema;
  }
  const folder = join(chart, "charts");
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    // Helm leaves these alone too.
    if (/^[._]/.test(entry.name)) continue;
    let path = join(folder, entry.name);
    if (entry.isFile()) {
      if (!entry.name.endsWith(".tgz")) continue;
      const opened = await open(path, folder, budget);
      if (opened.kind !== "done")
        return { ...opened, message: `charts/${entry.name.slice(0, 200)}: ${opened.message}` };
      path = opened.value;
    }
    const inner = await openSubcharts(path, budget, skipSchemas, depth + 1);
    if (inner.kind !== "done") return inner;
  }
  return done(undefined);
}

/** Puts the chart of an archive in its place; answers its folder. */
async function open(archive: string, folder: string, budget: Budget): Promise<Outcome<string>> {
  let tar: Buffer;
  try {
    tar = await promisify(gunzip)(await readFile(archive), {
      maxOutputLength: Math.max(1, Math.min(BOUNDS.totalBytes, budget.bytes)),
    });
  } catch (error) {
    const large = (error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE";
    return large ? stop(REPO.tooLarge, "unpacks to more than is accepted") : stop(REPO.chart, "is not a packed chart");
  }
  budget.bytes -= tar.length;
  const work = await mkdtemp(join(folder, ".opened-"));
  const put = await untar(tar, work);
  if (put.kind !== "done") return put;
  const [top, ...more] = await readdir(work);
  if (!top || more.length) return stop(REPO.chart, "is not a packed chart: it must hold one folder");
  const to = join(folder, `${top}${work.slice(work.lastIndexOf("-"))}`);
  await rename(join(work, top), to);
  await rm(work, { recursive: true, force: true });
  await rm(archive);
  return done(to);
}

/** Schemas that are compiled into helm's library. The last form, without a draft, means the newest draft. */
const BUILT_IN = /^https?:\/\/json-schema\.org\/((draft-0[4-7]|draft\/(2019-09|2020-12))\/)?schema#?$/;

/** Why the schema of a chart's values cannot be used. */
async function schemaOf(chart: string) {
  const bytes = await readFile(join(chart, "values.schema.json")).catch(() => undefined);
  if (!bytes) return undefined;
  if (bytes.length > MAX_SCHEMA)
    return stop(REPO.tooLarge, `values.schema.json has more than ${MAX_SCHEMA / 1_000_000} MB`);
  let schema: unknown;
  try {
    schema = readJson(bytes.toString("utf8"));
  } catch {
    return stop(REPO.refused, "values.schema.json is not JSON");
  }
  const pending = [schema];
  while (pending.length) {
    const value = pending.pop();
    if (typeof value !== "object" || value === null) continue;
    for (const [name, inner] of Object.entries(value)) {
      if (typeof inner === "object") pending.push(inner);
      else if (typeof inner === "string" && elsewhere(name, inner)) {
        return stop(
          REPO.refused,
          `values.schema.json refers to ${JSON.stringify(inner.slice(0, 200))}, which would have to be fetched; bring it along below "definitions", or set skipSchemaValidation`,
        );
      }
    }
  }
  return undefined;
}

const elsewhere = (name: string, value: string): boolean =>
  (["$ref", "$dynamicRef", "$recursiveRef"].includes(name) && !value.startsWith("#") && !BUILT_IN.test(value)) ||
  (name === "$schema" && !BUILT_IN.test(value));
