import type { Schemas } from "../../domain/nouns.ts";
import { notFound } from "../../domain/problem.ts";
import type { Scope } from "../../domain/scope.ts";
import { addressOf, placedOf } from "../../domain/services/placed.ts";
import type { Sql } from "../../store/database/sql.ts";
import { type Deployment, readDeployments, tryFindDeployment } from "../../store/services/deployments.ts";
import { readCursor, writeCursor } from "../http/cursor.ts";
import { checkScopeExists } from "../nouns/find.ts";
import type { Services } from "../services.ts";
import type { Handler } from "../typed.ts";

const NEWEST = [8.64e15, ""] as const;

/** GET of finished syncs, the newest first. */
export const listDeployments =
  (s: Services): Handler<"listDeployments"> =>
  async ({ query, scope }) => {
    await checkScopeExists(s.db, scope);
    const { limit = 100, cursor, inherited = false, application, outcome } = query;
    const before = cursor === undefined ? NEWEST : (readCursor(cursor, ["number", "string"]) as [number, string]);
    const found = await readDeployments(s.db, scope, {
      ...{ inherited, application, outcome, before, limit: limit + 1 },
      service: asked(query.service, scope),
      environment: asked(query.environment, scope),
    });
    const page = found.slice(0, limit);
    const last = page.at(-1);
    const more = found.length > limit && last ? { nextCursor: writeCursor([last.micros, last.deployment.id]) } : {};
    return { status: 200, body: { items: page.map(({ deployment }) => view(deployment)), ...more } };
  };

/** A name that no object can have finds nothing. */
const asked = (reference: string | undefined, scope: Scope): string | undefined =>
  reference === undefined ? undefined : (addressOf(reference, scope) ?? "");

export const getDeployment =
  (s: Services): Handler<"getDeployment"> =>
  async ({ params, scope }) => ({ status: 200, body: view(await findDeployment(s.db, scope, params.deployment)) });

/** A deployment of exactly this scope. */
export async function findDeployment(sql: Sql, scope: Scope, id: string): Promise<Deployment> {
  const found = await tryFindDeployment(sql, scope.account, id);
  if (!found || found.org !== scope.org || found.project !== scope.project) throw notFound();
  return found;
}

function view({ account: _, org, project, service, environment, ...rest }: Deployment): Schemas["Deployment"] {
  return {
    ...(org ? { org } : {}),
    ...(project ? { project } : {}),
    service: placedOf(service),
    environment: placedOf(environment),
    ...Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined)),
  } as Schemas["Deployment"];
}
