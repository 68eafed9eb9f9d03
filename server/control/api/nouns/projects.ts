import { isTemplated, projectsOfSet } from "../../../../openapi/set-projects.ts";
import { readDocument } from "../../../base/json/nesting.ts";
import type { Collection } from "../../domain/nouns.ts";
import { invalid, Problem } from "../../domain/problem.ts";
import { serves } from "../../domain/rules/appproject.ts";
import type { Spec } from "../../domain/rules/spec.ts";
import { contains, isSame, type Scope } from "../../domain/scope.ts";
import type { Sql } from "../../store/database/sql.ts";
import { projectsAt } from "../../store/objects/deliveries.ts";
import type { Stored } from "../../store/objects/objects.ts";
import type { ReferenceTarget } from "./references.ts";

interface Use {
  collection: Collection;
  scope: Scope;
  spec: Spec;
  targets: readonly ReferenceTarget[];
}

/**
 * What a scope below its agent's may name as the project of its applications. In the agent's own scope any name is possible: a client that writes
 * there owns the agent. Projects that are hidden, missing, of another agent or not for this scope are refused with the same words.
 */
export async function checkProjects(sql: Sql, use: Use): Promise<void> {
  const agent = use.targets.find((t) => t.pointer === "/spec/agent")?.object;
  if (!agent) return;
  if (isSame(agent, use.scope)) return checkOwn(use);
  if (use.collection === "appprojects") return checkLimits(use);
  const referred = use.targets.find((t) => t.pointer === "/spec/appProject");
  if (use.collection === "applications" && referred) {
    if (!isFor(referred.object, use.scope)) throw notAllowed(referred.pointer, use.spec.appProject, use.scope);
    return;
  }
  const named = namedIn(use).filter(({ project }) => !isTemplated(project));
  const allowed = await namesFor(sql, agent, use.scope, named);
  const refused = named.find(({ project }) => typeof project !== "string" || !allowed.has(project));
  if (refused) throw notAllowed(refused.pointer, refused.project, use.scope);
}

/** Nothing named means `default`, as in Argo CD. */
function namedIn({ collection, spec }: Use): { pointer: string; project: unknown }[] {
  if (collection === "applications") return [{ pointer: "/spec/argoProject", project: spec.argoProject || "default" }];
  if (collection !== "applicationsets") return [];
  const places = projectsOfSet({ ...spec, templatePatch: patchOf(spec.templatePatch) });
  return places.map(({ pointer, project }) => ({ pointer, project: project || "default" }));
}

/** The patch, if it can be read before its parameters are put in. The agent lets no patch change the project in any case. */
function patchOf(text: unknown): unknown {
  if (typeof text !== "string") return undefined;
  try {
    const document = readDocument(text, { logLevel: "silent", prettyErrors: false });
    return document.errors.length ? undefined : document.toJS({ maxAliasCount: 100 });
  } catch {
    return undefined;
  }
}

async function namesFor(
  sql: Sql,
  agent: Stored,
  scope: Scope,
  named: readonly { project: unknown }[],
): Promise<Set<string>> {
  const names = named.flatMap(({ project }) => (typeof project === "string" ? [project] : []));
  const found = names.length ? await projectsAt(sql, agent.account, agent.uid, names) : [];
  return new Set(found.filter(({ object }) => isFor(object, scope)).map(({ name }) => name));
}

const isFor = (project: Stored, scope: Scope): boolean => !project.deletionRequestedAt && serves(project, scope);

function checkOwn({ collection, spec }: Use): void {
  if (collection === "appprojects" && spec.within !== undefined)
    throw invalid("/spec/within", "A project in the agent's own scope is limited by no other one: leave out `within`.");
}

/** A project below the agent's scope cannot give itself more than the projects above it: those decide as whom its applications write. */
function checkLimits({ scope, spec, targets }: Use): void {
  if (spec.destinationServiceAccounts?.length)
    throw invalid(
      "/spec/destinationServiceAccounts",
      "Only a project in the agent's own scope names service accounts. Leave them out here: the applications of this project write as the account that the project above it names for their destination.",
    );
  const above = targets.find((t) => t.pointer === "/spec/within");
  if (!above) return;
  if (!contains(above.object, scope) || isSame(above.object, scope))
    throw invalid(above.pointer, "`within` names a project of a scope above, such as `org.id` or `account.id`.");
  if (!isFor(above.object, scope)) throw notAllowed(above.pointer, spec.within, scope);
}

function notAllowed(pointer: string, project: unknown, scope: Scope): Problem {
  const where = scope.project ? `project \`${scope.org}/${scope.project}\`` : `organization \`${scope.org}\``;
  const named = typeof project === "string" ? `app project \`${project.slice(0, 253)}\`` : "this app project";
  return new Problem(
    "argo_project_not_allowed",
    `The agent belongs to a scope above ${where}, and ${named} may not be used from here. Name an app project of this scope or of one above it, or one whose \`allowedScopes\` lists this scope: by \`appProject\`, or by its \`status.name\`.`,
    { pointer },
  );
}
