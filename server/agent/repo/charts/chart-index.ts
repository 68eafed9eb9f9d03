import { readJson } from "../../../base/json/nesting.ts";
import { done, type Outcome, stop } from "../../../base/outcome.ts";
import { parseYaml } from "../../../kube/yaml.ts";
import { highest } from "../revision.ts";
import { REPO } from "../types.ts";

// One chart's part of an index: thousands of versions with all they say of themselves.
const MAX_PART = 8_000_000;

export interface ChartVersion {
  version: string;
  /** As the index has it: it may be relative, and on any host. */
  url: string;
}

/**
 * The version of a chart that a range means, by a repository's index. Only the chart's own lines are read as YAML: an index has up to 20 MB, and
 * nothing else is served meanwhile.
 */
export function findInIndex(index: Buffer, chart: string, wanted: string): Outcome<ChartVersion> {
  const listed = partOf(index.toString("utf8"), chart);
  if (listed.kind !== "done") return listed;
  const urls = new Map<string, string>();
  for (const item of Array.isArray(listed.value) ? listed.value : []) {
    const { version, urls: all } = (item ?? {}) as { version?: unknown; urls?: unknown };
    const first = Array.isArray(all) ? all[0] : undefined;
    if (typeof version === "string" && typeof first === "string" && !urls.has(version)) urls.set(version, first);
  }
  const version = urls.has(wanted) ? wanted : highest(wanted || "*", urls.keys());
  return version === undefined
    ? stop(REPO.chartNotFound, `the index has no version ${JSON.stringify(wanted)} of chart ${chart}`)
    : done({ version, url: urls.get(version)! });
}

function partOf(text: string, chart: string): Outcome<unknown> {
  const missing = stop(REPO.chartNotFound, `the index has no chart ${chart}`);
  if (text.trimStart().startsWith("{")) return fromWhole(() => readJson(text), chart) ?? missing;
  // helm writes one key a line, two blanks in; the list below it begins at the same column or further in.
  const entries = /^(?:entries|"entries"):[ \t]*\r?\n/m.exec(text);
  if (!entries) return stop(REPO.chartNotFound, "the index has no entries");
  const rest = text.slice(entries.index + entries[0].length);
  const indent = /^( +)[^\s#-]/m.exec(rest)?.[1];
  if (!indent) return missing;
  const name = chart.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const head = new RegExp(`^${indent}(?:${name}|"${name}"|'${name}'):[ \\t]*\\r?\\n`, "m").exec(rest);
  const end = /^[^\s#]/m.exec(rest);
  if (!head || (end && head.index > end.index)) return missing;
  const from = head.index + head[0].length;
  const next = new RegExp(`^(?:${indent}[^\\s#-]|[^\\s#-])`, "m").exec(rest.slice(from));
  const part = next ? rest.slice(from, from + next.index) : rest.slice(from);
  if (part.length > MAX_PART) return stop(REPO.tooLarge, `chart ${chart} has more than ${MAX_PART} bytes of the index`);
  return parseYaml(part, "index.yaml");
}

function fromWhole(parse: () => unknown, chart: string): Outcome<unknown> | undefined {
  try {
    const entries = (parse() as { entries?: Record<string, unknown> }).entries ?? {};
    return Object.hasOwn(entries, chart) ? done(entries[chart]) : undefined;
  } catch {
    return stop(REPO.chartNotFound, "the index is not JSON");
  }
}
