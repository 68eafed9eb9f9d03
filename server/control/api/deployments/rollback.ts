import { Problem } from "../../domain/problem.ts";
import { type Stored, tryFindObject } from "../../store/objects/objects.ts";
import type { Deployment } from "../../store/services/deployments.ts";
import { rollBack } from "../applications/actions.ts";
import type { Services } from "../services.ts";
import type { Handler } from "../typed.ts";
import { findDeployment } from "./read.ts";

/** Rolls an application back to a finished sync, by the entry of the application's own history that tells of it. */
export const rollbackDeployment =
  (s: Services): Handler<"rollbackDeployment"> =>
  async (call) => {
    const deployment = await findDeployment(s.db, call.scope, call.params.deployment);
    if (!(await tryFindObject(s.db, "applications", deployment, deployment.application)))
      throw new Problem("conflict", `Application \`${deployment.application}\` no longer exists.`);
    if (deployment.outcome !== "Succeeded")
      throw new Problem("conflict", "This sync failed: there is nothing to go back to.");
    // One without an entry of its own is refused by the check.
    const id = deployment.historyId ?? 0;
    const { prune, dryRun } = call.body ?? {};
    const body = { id, ...(prune === undefined ? {} : { prune }), ...(dryRun === undefined ? {} : { dryRun }) };
    const rollback = {
      ...call,
      operation: "rollbackApplication" as const,
      params: { id: deployment.application },
      body,
    };
    return rollBack(s, rollback, (app) => checkEntry(app, deployment));
  };

interface Entry {
  id: number;
  deployedAt: string;
  deployStartedAt?: string;
}

function checkEntry(app: Stored, of: Deployment): void {
  const history = (app.status.history ?? []) as Entry[];
  // Numbers begin anew with an application of the same id: the time tells the two apart.
  const entry = history.find(
    (one) => one.id === of.historyId && Date.parse(one.deployStartedAt ?? one.deployedAt) === Date.parse(of.startedAt),
  );
  if (entry) return;
  const revision = of.revision ?? of.revisions?.[0];
  throw new Problem(
    "conflict",
    `The history of application \`${of.application}\` no longer has this deployment: \`revisionHistoryLimit\` is ${app.spec.revisionHistoryLimit ?? 10}. ${revision ? `To deploy that revision with today's settings, sync with \`revision\` ${revision}.` : "Sync the revision that you want instead."}`,
  );
}
