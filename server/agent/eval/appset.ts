import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Outcome, stop } from "../../base/outcome.ts";
import { generate } from "../appset/generate.ts";
import { validateSpec } from "../appset/reconcile/validate.ts";
import { APPSET, type ApplicationSetSpec } from "../appset/types.ts";
import { type Cluster, repositoryFiles, type World } from "../appset/world/world.ts";
import { MemoryCache } from "../cache/memory.ts";
import { RepoService } from "../repo/service.ts";

interface Question {
  name?: string;
  spec: ApplicationSetSpec;
  clusters?: Cluster[];
  /** Folder of each repository, by its address. */
  repositories?: Record<string, string>;
}

/** `{spec, clusters, repositories}` → the applications that the set makes, or why it makes none. */
export async function appset({ name = "as", spec, clusters = [], repositories = {} }: Question): Promise<unknown> {
  // A call over an API needs a project that is known before, so that rights can be looked up.
  if (/\{\{/.test(spec.template?.spec?.project ?? ""))
    return { error: "a templated project is only known to the controller: name one to ask for the applications" };
  const problem = validateSpec(spec);
  if (problem) return { error: problem };
  const folder = await mkdtemp(join(tmpdir(), "outpost-eval-"));
  const repo = new RepoService({ folder, cache: new MemoryCache(), allowLocal: true });
  try {
    await repo.start();
    const made = await generate(name, spec, worldOf(repo, clusters, repositories));
    return made.kind === "done" ? { applications: made.value } : { error: made.message };
  } finally {
    repo.close();
    await rm(folder, { recursive: true, force: true });
  }
}

function worldOf(repo: RepoService, clusters: Cluster[], repositories: Record<string, string>): World {
  const none = async (): Promise<Outcome<never>> => stop(APPSET.params, "there is no cluster to ask in an evaluation");
  const files = repositoryFiles(repo, (url) => ({ url: Object.hasOwn(repositories, url) ? repositories[url]! : url }));
  return { clusters: () => clusters, ...files, secret: none, githubApp: none, configMap: none, objects: none };
}
