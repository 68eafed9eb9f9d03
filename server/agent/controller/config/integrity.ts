import type { Outcome } from "../../../base/outcome.ts";
import { type Demand, demandForAll } from "../../project/integrity.ts";
import { chainOf, type Project } from "../../project/project.ts";
import { tenantOf } from "../../project/tenant.ts";
import type { Integrity, Source } from "../../repo/types.ts";
import { type Application, deployedSources, revisionsOf, sourcesOf } from "../application.ts";
import type { Deps } from "../deps.ts";
import { projectOf } from "../projects.ts";

type Known = Pick<Deps, "projects" | "repositories">;

/** What an application's project demands of the commits of one of its sources; undefined when any will do. */
export function integrityOf(
  { projects }: Known,
  app: Application,
  source: Source,
  index: number,
): Integrity | undefined {
  const name = projectOf(app);
  const demand = demandOf(projects.of(app), source);
  if (!demand) return undefined;
  const last = app.status?.history?.at(-1);
  // A sync of another repository proves nothing about this one.
  const since = deployedSources(last)[index]?.repoURL === source.repoURL ? revisionsOf(last)[index] : undefined;
  return { project: name, ...demand, ...(since ? { since } : {}) };
}

/** The signatures that a project demands of a repository from whose files a set makes its applications; a set for many projects has no such rule. */
export function lookIntegrity(
  { projects }: Pick<Known, "projects">,
  repoURL: string,
  project: string | undefined,
): Integrity | undefined {
  const demand = project === undefined ? undefined : demandOf(projects.under(project, undefined), { repoURL });
  return demand && { project: project!, ...demand };
}

/** A text that is unique for each policy and key set of an application; undefined without a policy. */
export function demandsOf({ projects, repositories }: Known, app: Application): unknown {
  const demands = sourcesOf(app).map((source) => demandOf(projects.of(app), source));
  return demands.some(Boolean) ? [demands, repositories.keyringDigestOf(tenantOf(app))] : undefined;
}

/** Charts and artifacts have no commits. A project that cannot be read lets nothing through before this is asked. */
function demandOf(project: Outcome<Project>, { repoURL, chart }: Source): Demand | undefined {
  if (project.kind !== "done" || chart || repoURL.startsWith("oci://")) return undefined;
  return demandForAll(chainOf(project.value), repoURL);
}
