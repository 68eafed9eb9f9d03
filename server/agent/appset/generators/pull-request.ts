import { done, type Outcome, stop } from "../../../base/outcome.ts";
import { PULLS } from "../hosts/table.ts";
import { addValues, type Params } from "../parameters/params.ts";
import { APPSET, type Free } from "../types.ts";
import { HTTP } from "../world/http.ts";
import { access, found, type Pull, readAll, slug } from "../world/scm.ts";
import type { Generate, GeneratorContext } from "./context.ts";

interface Filter {
  branchMatch?: string;
  targetBranchMatch?: string;
  titleMatch?: string;
}

/** `pullRequest`: the open pull requests of a repository. */
export const pullRequest: Generate = async (settings, context) => {
  const filters = (settings.filters ?? []) as Filter[];
  readAll(
    filters.flatMap(({ branchMatch, targetBranchMatch, titleMatch }) => [branchMatch, targetBranchMatch, titleMatch]),
  );
  const asked = await pulls(settings, context);
  if (asked.kind !== "done") return asked;
  if (!asked.value.every(({ number }) => Number.isInteger(number)))
    return stop(APPSET.params, "the host told of a pull request without its number");
  const fits = ({ branch, target, title }: Pull) =>
    filters.length === 0 ||
    filters.some(
      (one) => found(one.branchMatch, branch) && found(one.targetBranchMatch, target) && found(one.titleMatch, title),
    );
  return done(asked.value.filter(fits).map((pull) => paramsOf(pull, settings.values, context)));
};

async function pulls(settings: Free, { world, project }: GeneratorContext): Promise<Outcome<Pull[]>> {
  const name = Object.keys(PULLS).find((one) => settings[one]);
  if (!name)
    return stop(
      APPSET.params,
      `no pull request provider configured: one of ${Object.keys(PULLS).join(", ")} is needed`,
    );
  const provider = PULLS[name]!;
  const asking = await access(settings[name], provider, { world, ...(project ? { project } : {}) });
  if (asking.kind !== "done") return asking;
  const asked = await provider.host.pulls(asking.value.settings, asking.value.ask);
  const gone = asked.kind !== "done" && asked.reason === HTTP.notFound && settings.continueOnRepoNotFoundError === true;
  return gone ? done([]) : asked;
}

function paramsOf(pull: Pull, values: Record<string, string> | undefined, { how }: GeneratorContext): Params {
  const params: Params = new Map([
    ["number", String(pull.number)],
    ["title", pull.title],
    ["branch", pull.branch],
    ["branch_slug", slug(pull.branch)],
    ["target_branch", pull.target],
    ["target_branch_slug", slug(pull.target)],
    ["head_sha", pull.sha],
    ["head_short_sha", pull.sha.slice(0, 8)],
    ["head_short_sha_7", pull.sha.slice(0, 7)],
    ["author", pull.author],
  ]);
  // Without Go's syntax a list has no form.
  if (how.goTemplate) params.set("labels", pull.labels);
  addValues(values, params, how);
  return params;
}
