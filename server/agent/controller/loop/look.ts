import { refusesSource } from "../../project/project.ts";
import type { RepoAccess } from "../../repo/types.ts";
import { redactUrl } from "../../repo/url.ts";
import { lookIntegrity } from "../config/integrity.ts";
import type { Deps } from "../deps.ts";
import { lendingTo, within } from "../render.ts";

type Known = Pick<Deps, "projects" | "repositories">;

const NONE: readonly string[] = [];

/**
 * The way into a repository from whose files a set makes applications of a project. What a tenant's set reads comes out as parameters, so the
 * project is asked as it is asked of an application's source; where the parameters name the project, only credentials of the tenant's own are used.
 */
export function lookAccess(
  { projects, repositories }: Known,
  url: string,
  project: string | undefined,
  tenant: string | undefined,
): RepoAccess {
  const own = repositories.find(url, project, tenant);
  if (project === undefined) return tenant === undefined ? own : withoutBorrowed(own, tenant);
  const rules = projects.under(project, tenant);
  if (tenant !== undefined) {
    const refused = rules.kind === "done" ? refusesSource(rules.value, url) : rules;
    if (refused) return { url, refused: { reason: refused.reason, message: refused.message } };
  }
  const found = within(own, rules.kind === "done" ? lendingTo(rules.value) : NONE);
  return lookIntegrity({ projects }, url, project) ? { ...found, keyring: repositories.keyringOf(tenant) } : found;
}

function withoutBorrowed(access: RepoAccess, tenant: string): RepoAccess {
  const { url, ways, borrowed } = access;
  if (!borrowed) return ways ? { ...access, ways: ways.filter((way) => !way.borrowed) } : access;
  const message = `${redactUrl(url)} is opened by credentials of a scope above ${tenant.replace(/\/-$/, "")}, which a set may use for one project alone: name it in spec.template.spec.project, without parameters`;
  return { url, refused: { reason: "SourceNotPermitted", message } };
}
