import { done, type Outcome, stop } from "../../../base/outcome.ts";
import { HOSTS, OTHERS } from "../hosts/table.ts";
import { HTTP } from "../http.ts";
import { addValues, type Params } from "../params.ts";
import { access, found, type Pull, slug } from "../scm.ts";
import { APPSET, type Free } from "../types.ts";
import type { Context, Generate } from "./context.ts";

interface Filter {
  branchMatch?: string;
  targetBranchMatch?: string;
  titleMatch?: string;
}

/** `pullRequest`: the open pull requests of a repository. */
export const pullRequest: Generate = async (settings, context) => {
  const asked = await pulls(settings, context);
  if (asked.kind !== "done") return asked;
  const filters = (settings.filters ?? []) as Filter[];
  const fits = ({ branch, target, title }: Pull) =>
    filters.length === 0 ||
    filters.some((one) => found(one.branchMatch, branch) && found(one.targetBranchMatch, target) && found(one.titleMatch, title));
  return done(asked.value.filter(fits).map((pull) => paramsOf(pull, settings.values, context)));
};

async function pulls(settings: Free, { world }: Context): Promise<Outcome<Pull[]>> {
  const name = Object.keys(HOSTS).find((one) => settings[one]);
  if (!name) return stop(APPSET.params, missing(settings, "pull requests"));
  const { host, api, header } = HOSTS[name]!;
  const own = settings[name] as Free;
  if (own.appSecretName) return stop(APPSET.params, `pullRequest.${name}.appSecretName is not supported: give a token with tokenRef`);
  const ask = await access(own, api, world, header);
  if (ask.kind !== "done") return ask;
  const asked = await host.pulls(own, ask.value);
  const gone = asked.kind !== "done" && asked.reason === HTTP.notFound && settings.continueOnRepoNotFoundError === true;
  return gone ? done([]) : asked;
}

/** Why none of the hosts can be asked. */
export function missing(settings: Free, what: string): string {
  const other = OTHERS.find((one) => settings[one]);
  const known = Object.keys(HOSTS).join(", ");
  return other
    ? `${what} of ${other} are not supported; supported are ${known}`
    : `no SCM provider implementation configured: one of ${known} is needed`;
}

function paramsOf(pull: Pull, values: Record<string, string> | undefined, { how }: Context): Params {
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
