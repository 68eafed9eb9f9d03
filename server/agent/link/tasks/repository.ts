import { done, stop } from "../../../base/outcome.ts";
import { testCluster, testRepository } from "../connections.ts";
import { repositoryAccess } from "../credentials/repository-access.ts";
import { type LinkRead, objectOf } from "../queries/task.ts";

// A repository with more of them is browsed by name, not listed.
const MOST = 5_000;
const MOST_VERSIONS = 500;
const MAX_TEXT = 4 * 1024 * 1024;

export const repositoryTest: LinkRead = async (tc, task) => {
  const secret = await objectOf(tc, task, "repositories");
  if (secret.kind !== "done") return secret;
  return done((await testRepository(tc.ctx, tc.repo, secret.value)).connection);
};

export const clusterTest: LinkRead = async (tc, task) => {
  const secret = await objectOf(tc, task, "clusters");
  if (secret.kind !== "done") return secret;
  return done((await testCluster(tc.ctx, secret.value)).connection);
};

/** Charts with their versions; what an artifact of a registry has are its tags. */
export const repositoryCharts: LinkRead = async (tc, task) => {
  const secret = await objectOf(tc, task, "repositories");
  if (secret.kind !== "done") return secret;
  const access = await repositoryAccess(tc.ctx, secret.value);
  if (access.kind !== "done") return access;
  const charts = await tc.repo.charts(access.value);
  if (charts.kind !== "done") return charts;
  const items = charts.value.items
    .slice(0, MOST)
    .map(({ name, versions }) => ({ name, versions: versions.slice(0, MOST_VERSIONS) }));
  if (JSON.stringify(items).length > MAX_TEXT)
    return stop("AnswerTooLarge", "the repository's list of charts has more than 4 MB");
  return done({ items });
};

export const repositoryRefs: LinkRead = async (tc, task) => {
  const secret = await objectOf(tc, task, "repositories");
  if (secret.kind !== "done") return secret;
  const access = await repositoryAccess(tc.ctx, secret.value);
  if (access.kind !== "done") return access;
  const refs = await tc.repo.refs(access.value);
  if (refs.kind !== "done") return refs;
  const list = (of: Record<string, string>) =>
    Object.entries(of)
      .slice(0, MOST)
      .map(([name, revision]) => ({ name, revision }));
  const { defaultBranch, branches, tags } = refs.value;
  return done({ ...(defaultBranch ? { defaultBranch } : {}), branches: list(branches), tags: list(tags) });
};
