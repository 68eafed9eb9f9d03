import type { Schemas } from "../../../../openapi/client.ts";
import { patternMatcher } from "../../../../openapi/pattern-match.ts";
import { done, type Outcome, stop } from "../../../base/outcome.ts";
import type { TaskContext } from "../../kind.ts";

export type Application = Schemas["Application"];
type Filter = Schemas["ApplicationFilter"];

const PAGE = 500;
/** More than this in one scope is looked at by narrower filters. */
const MAX_APPLICATIONS = 10_000;

/** The applications of the task's scope that fit everything a filter says. */
export async function findApplications(context: TaskContext, filter: Filter = {}): Promise<Outcome<Application[]>> {
  const { agent, ids, regex } = filter;
  const found: Application[] = [];
  let cursor: string | undefined;
  let seen = 0;
  do {
    const page = await context.api<Schemas["ApplicationList"]>("listApplications", {
      query: {
        limit: String(PAGE),
        ...(agent ? { filter: `spec.agent=${agent}` } : {}),
        ...(cursor ? { cursor } : {}),
      },
    });
    if (page.kind !== "done") return page;
    for (const application of page.value.items) {
      const fits = fitsFilter(application, filter);
      if (fits === "slow")
        return stop(
          "ParamsInvalid",
          `/params/filter/regex takes too long to match: ${JSON.stringify(regex)}; write it simpler`,
        );
      if (fits === "invalid")
        return stop("ParamsInvalid", `/params/filter/regex is not a regular expression: ${JSON.stringify(regex)}`);
      if (fits) found.push(application);
    }
    seen += page.value.items.length;
    cursor = page.value.nextCursor;
  } while (cursor !== undefined && seen < MAX_APPLICATIONS);
  if (cursor !== undefined)
    return stop("TooManyApplications", `the scope has more than ${MAX_APPLICATIONS} applications; filter by \`agent\``);
  const missing = (ids ?? []).find((id) => !found.some((application) => application.id === id));
  if (missing !== undefined)
    return stop("ApplicationNotFound", `there is no application ${missing} in the task's scope that fits the filter`);
  return done(found);
}

/** What of a filter an application fits; `agent` is the service's part. */
export function fitsFilter(
  { id, spec }: Pick<Application, "id" | "spec">,
  filter: Filter,
): boolean | "slow" | "invalid" {
  const { ids, regex, labels, repoUrl, paths } = filter;
  if (ids && !ids.includes(id)) return false;
  if (labels && !Object.entries(labels).every(([name, value]) => spec.labels?.[name] === value)) return false;
  const sources = spec.sources ?? (spec.source ? [spec.source] : []);
  if (
    repoUrl !== undefined &&
    !sources.some((source) => source.repoUrl !== undefined && sameUrl(source.repoUrl, repoUrl))
  )
    return false;
  if (paths && !sources.some((source) => paths.some((path) => below(path, source.path ?? "")))) return false;
  // The first that is slow ends the whole: each has its own time.
  return regex === undefined ? true : patternMatcher()(regex, id);
}

/** `.git` and a slash at the end, and the case of the host, make no other repository. */
function sameUrl(a: string, b: string): boolean {
  const plain = (url: string) =>
    url
      .replace(/\/+$/, "")
      .replace(/\.git$/, "")
      .replace(/^([a-z+]+:\/\/[^/]+)/i, (host) => host.toLowerCase());
  return plain(a) === plain(b);
}

function below(file: string, folder: string): boolean {
  const at = folder.replace(/^\.?\/*|\/+$/g, "");
  return at === "" || at === "." || file === at || file.startsWith(`${at}/`);
}
