import { type Collection, nouns, type ObjectOf } from "../../domain/nouns.ts";
import { notFound, Problem } from "../../domain/problem.ts";
import { levelOf, type Scope } from "../../domain/scope.ts";
import type { Sql } from "../../store/database/sql.ts";
import { type Stored, tryFindObject, view } from "../../store/objects/objects.ts";

/** The object, or the one answer for a missing one. */
export async function findObject(sql: Sql, collection: Collection, scope: Scope, id: string): Promise<Stored> {
  const found = await tryFindObject(sql, collection, scope, id);
  if (!found) throw notFound();
  return found;
}

/** Refuses a scope in which there is no such noun, as a project outside an organisation. */
export function checkLevel(collection: Collection, scope: Scope): void {
  const { scopes } = nouns[collection];
  if (scopes.includes(levelOf(scope))) return;
  const want = scopes.includes("org")
    ? "`org` is needed: these objects live in an organisation"
    : "these objects live in the account; leave out `org` and `project`";
  throw new Problem("invalid_request", `Wrong scope: ${want}.`);
}

/** Refuses a write into an organisation or project that is not there. It looks like any other missing thing. */
export async function checkScopeExists(sql: Sql, scope: Scope): Promise<void> {
  if (!scope.org) return;
  await findObject(sql, "organizations", { account: scope.account, org: "", project: "" }, scope.org);
  if (scope.project)
    await findObject(sql, "projects", { account: scope.account, org: scope.org, project: "" }, scope.project);
}

export const show = <C extends Collection>(o: Stored): ObjectOf<C> => view(o) as unknown as ObjectOf<C>;
