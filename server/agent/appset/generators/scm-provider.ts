import { done, type Outcome, stop } from "../../../base/outcome.ts";
import { HOSTS } from "../hosts/table.ts";
import type { Ask } from "../http.ts";
import { addValues, type Params } from "../params.ts";
import { access, type Branch, found, type Host, type Repository } from "../scm.ts";
import { normalize } from "../template/names.ts";
import { APPSET, type Free } from "../types.ts";
import { type Generate, MAX_PARAMS } from "./context.ts";
import { missing } from "./pull-request.ts";

interface Filter {
  repositoryMatch?: string;
  pathsExist?: string[];
  pathsDoNotExist?: string[];
  labelMatch?: string;
  branchMatch?: string;
}

/** `scmProvider`: the repositories of an organisation, or their branches. */
export const scmProvider: Generate = async (settings, { world, how }) => {
  const name = Object.keys(HOSTS).find((one) => settings[one]);
  if (!name) return stop(APPSET.params, missing(settings, "repositories"));
  const { host, api, header } = HOSTS[name]!;
  const own = settings[name] as Free;
  if (own.appSecretName) return stop(APPSET.params, `scmProvider.${name}.appSecretName is not supported: give a token with tokenRef`);
  const ask = await access(own, api, world, header);
  if (ask.kind !== "done") return ask;
  const repositories = await host.repositories(own, ask.value);
  if (repositories.kind !== "done") return repositories;

  const filters = (settings.filters ?? []) as Filter[];
  const params: Params[] = [];
  for (const repository of repositories.value) {
    if (!couldFit(filters, repository)) continue;
    const branches = await host.branches(own, repository, own.allBranches === true, ask.value);
    if (branches.kind !== "done") return branches;
    for (const branch of branches.value) {
      const fits = await fitsOne(filters, { host, own, ask: ask.value, repository, branch });
      if (fits.kind !== "done") return fits;
      if (!fits.value) continue;
      if (params.length >= MAX_PARAMS) return stop(APPSET.params, `more than ${MAX_PARAMS} branches fit`);
      const made = paramsOf(repository, branch, settings.cloneProtocol);
      addValues(settings.values, made, how);
      params.push(made);
    }
  }
  return done(params);
};

const ofRepository = (filter: Filter, { repository, labels }: Repository) =>
  found(filter.repositoryMatch, repository) && (!filter.labelMatch || labels.some((label) => found(filter.labelMatch, label)));

/** Whether its branches need to be asked for at all. */
const couldFit = (filters: Filter[], repository: Repository) =>
  filters.length === 0 || filters.some((one) => ofRepository(one, repository));

interface Candidate {
  host: Host;
  own: Free;
  ask: Ask;
  repository: Repository;
  branch: Branch;
}

async function fitsOne(filters: Filter[], candidate: Candidate): Promise<Outcome<boolean>> {
  if (filters.length === 0) return done(true);
  for (const filter of filters) {
    if (!ofRepository(filter, candidate.repository) || !found(filter.branchMatch, candidate.branch.name)) continue;
    const fits = await pathsFit(filter, candidate);
    if (fits.kind !== "done" || fits.value) return fits;
  }
  return done(false);
}

async function pathsFit(
  { pathsExist = [], pathsDoNotExist = [] }: Filter,
  { host, own, ask, repository, branch }: Candidate,
): Promise<Outcome<boolean>> {
  for (const [paths, wanted] of [
    [pathsExist, true],
    [pathsDoNotExist, false],
  ] as const) {
    for (const path of paths) {
      const has = await host.hasPath(own, repository, branch.name, path, ask);
      if (has.kind !== "done") return has;
      if (has.value !== wanted) return done(false);
    }
  }
  return done(true);
}

function paramsOf({ organization, repository, id, url, labels }: Repository, { name, sha }: Branch, protocol: string | undefined): Params {
  return new Map([
    ["organization", organization],
    ["repository", repository],
    ["repository_id", id],
    ["url", protocol === "https" ? url.https : url.ssh],
    ["branch", name],
    ["branchNormalized", normalize(name)],
    ["sha", sha],
    ["short_sha", sha.slice(0, 8)],
    ["short_sha_7", sha.slice(0, 7)],
    ["labels", labels.join(",")],
  ]);
}
