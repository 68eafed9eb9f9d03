import { Problem } from "../../domain/problem.ts";
import { tryFindObject } from "../../store/objects/objects.ts";
import type { Deployment } from "../../store/services/deployments.ts";
import { rollbackApplication } from "../applications/actions.ts";
import type { Services } from "../services.ts";
import type { Handler } from "../typed.ts";
import { findDeployment } from "./read.ts";

/** Rolls an application back to a finished sync, by the entry of the application's own history that tells of it. */
export const rollbackDeployment =
  (s: Services): Handler<"rollbackDeployment"> =>
  async (call) => {
    const deployment = await findDeployment(s.db, call.scope, call.params.deployment);
    const id = await entryOf(s, deployment);
    const { prune, dryRun } = call.body ?? {};
    const body = { id, ...(prune === undefined ? {} : { prune }), ...(dryRun === undefined ? {} : { dryRun }) };
    return rollbackApplication(s)({
      ...call,
      operation: "rollbackApplication",
      params: { id: deployment.application },
      query: call.query,
      body,
    });
  };

interface Entry {
  id: number;
  deployedAt: string;
  deployStartedAt?: string;
}

async function entryOf(s: Services, of: Deployment): Promise<number> {
  const app = await tryFindObject(s.db, "applications", of, of.application);
  if (!app) throw new Problem("conflict", `Application \`${of.application}\` no longer exists.`);
  if (of.outcome !== "Succeeded") throw new Problem("conflict", "This sync failed: there is nothing to go back to.");
  const history = (app.status.history ?? []) as Entry[];
  // Numbers begin anew with an application of the same id: the time tells the two apart.
  const entry = history.find(
    (one) => one.id === of.historyId && Date.parse(one.deployStartedAt ?? one.deployedAt) === Date.parse(of.startedAt),
  );
  if (entry) return entry.id;
  const revision = of.revision ?? of.revisions?.[0];
  throw new Problem(
    "conflict",
    `The history of application \`${of.application}\` no longer has this deployment: \`revisionHistoryLimit\` is ${app.spec.revisionHistoryLimit ?? 10}. ${revision ? `To deploy that revision with today's settings, sync with \`revision\` ${revision}.` : "Sync the revision that you want instead."}`,
  );
}
