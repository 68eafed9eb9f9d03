import { done } from "../../../base/outcome.ts";
import { testCluster, testRepository } from "../connections.ts";
import { repositoryAccess } from "../reach.ts";
import { field } from "../secrets.ts";
import { objectOf, type Read } from "./task.ts";

// A repository with more of them is browsed by name, not listed.
const MOST = 5_000;

export const repositoryTest: Read = async (tc, task) => {
  const secret = await objectOf(tc, task, "repositories");
  if (secret.kind !== "done") return secret;
  return done((await testRepository(tc.ctx, tc.repo, secret.value)).connection);
};

export const clusterTest: Read = async (tc, task) => {
  const secret = await objectOf(tc, task, "clusters");
  if (secret.kind !== "done") return secret;
  return done((await testCluster(tc.ctx, secret.value)).connection);
};

export const repositoryRefs: Read = async (tc, task) => {
  const secret = await objectOf(tc, task, "repositories");
  if (secret.kind !== "done") return secret;
  const access = await repositoryAccess(tc.ctx, field(secret.value, "url") ?? "");
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
