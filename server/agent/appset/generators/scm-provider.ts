import { done, type Outcome, stop } from "../../../base/outcome.ts";
import { SCM } from "../hosts/table.ts";
import { addValues, type Params } from "../parameters/params.ts";
import { normalize } from "../template/sprig/names.ts";
import { APPSET, type Free } from "../types.ts";
import type { Ask } from "../world/http.ts";
import { access, type Branch, type Browse, found, type Repository, readAll } from "../world/scm.ts";
import { type Generate, MAX_PARAMS } from "./context.ts";

interface Filter {
  repositoryMatch?: string | null;
  pathsExist?: string[] | null;
  pathsDoNotExist?: string[] | null;
  labelMatch?: string | null;
  branchMatch?: string | null;
}

/** `scmProvider`: the repositories of an organisation, or their branches. */
export const scmProvider: Generate = async (given, { world, how, project }) => {
  const name = Object.keys(SCM).find((one) => given[one]);
  if (!name)
    return stop(
      APPSET.params,
      `no SCM provider implementation configured: one of ${Object.keys(SCM).join(", ")} is needed`,
    );
  const { host } = SCM[name]!;
  const all = (given.filters ?? []) as Filter[];
  readAll(all.flatMap(({ repositoryMatch, labelMatch, branchMatch }) => [repositoryMatch, labelMatch, branchMatch]));
  const asking = await access(given[name], SCM[name]!, { world, ...(project ? { project } : {}) });
  if (asking.kind !== "done") return asking;
  const { settings, ask } = asking.value;
  const repositories = await host.repositories(settings, ask);
  if (repositories.kind !== "done") return repositories;

  const filters = kindsOf(all);
  const params: Params[] = [];
  for (const repository of repositories.value) {
    if (!repository.repository) return stop(APPSET.params, `${name} told of a repository without its name`);
    if (!couldFit(filters, repository)) continue;
    const url = addressOf(repository, given.cloneProtocol || "ssh");
    if (url === undefined) return stop(APPSET.params, `unknown clone protocol for ${name}: ${given.cloneProtocol}`);
    if (url === "")
      return stop(APPSET.params, `${repository.repository} has no address for ${given.cloneProtocol || "ssh"}`);
    const branches = await host.branches(settings, repository, settings.allBranches === true, ask);
    if (branches.kind !== "done") return branches;
    for (const branch of branches.value) {
      const fits = await fitsOne(filters.ofBranches, { host, settings, ask, repository, branch });
      if (fits.kind !== "done") return fits;
      if (!fits.value) continue;
      if (params.length >= MAX_PARAMS) return stop(APPSET.params, `more than ${MAX_PARAMS} branches fit`);
      const made = paramsOf(repository, branch, url);
      addValues(given.values, made, how);
      params.push(made);
    }
  }
  return done(params);
};

const addressOf = ({ url }: Repository, protocol: string): string | undefined =>
  Object.hasOwn(url, protocol) ? url[protocol as keyof Repository["url"]] : undefined;

const isSet = <T>(value: T | undefined | null): value is T => value !== undefined && value !== null;

interface Filters {
  ofRepositories: Filter[];
  ofBranches: Filter[];
}

/** As in Argo CD: a repository must fit one of the filters that speak of repositories alone, and a branch one of those that speak of branches too. */
function kindsOf(filters: Filter[]): Filters {
  const ofBranch = (one: Filter) => isSet(one.branchMatch) || isSet(one.pathsExist) || isSet(one.pathsDoNotExist);
  return {
    ofRepositories: filters.filter((one) => !ofBranch(one) && (isSet(one.repositoryMatch) || isSet(one.labelMatch))),
    ofBranches: filters.filter(ofBranch),
  };
}

const ofRepository = ({ repositoryMatch, labelMatch }: Filter, { repository, labels }: Repository) =>
  found(repositoryMatch, repository) && (!isSet(labelMatch) || labels.some((label) => found(labelMatch, label)));

/** Whether its branches need to be asked for at all. */
const couldFit = ({ ofRepositories, ofBranches }: Filters, repository: Repository) =>
  [ofRepositories, ofBranches].every((some) => some.length === 0 || some.some((one) => ofRepository(one, repository)));

interface Candidate {
  host: Browse;
  settings: Free;
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
  { pathsExist, pathsDoNotExist }: Filter,
  { host, settings, ask, repository, branch }: Candidate,
): Promise<Outcome<boolean>> {
  for (const [paths, wanted] of [
    [pathsExist, true],
    [pathsDoNotExist, false],
  ] as const) {
    for (const path of paths ?? []) {
      const has = await host.hasPath(settings, { repository, branch, path }, ask);
      if (has.kind !== "done") return has;
      if (has.value !== wanted) return done(false);
    }
  }
  return done(true);
}

function paramsOf({ organization, repository, id, labels }: Repository, { name, sha }: Branch, url: string): Params {
  return new Map([
    ["organization", organization],
    ["repository", repository],
    ["repository_id", id],
    ["url", url],
    ["branch", name],
    ["branchNormalized", normalize(name)],
    ["sha", sha],
    ["short_sha", sha.slice(0, 8)],
    ["short_sha_7", sha.slice(0, 7)],
    ["labels", labels.join(",")],
  ]);
}
