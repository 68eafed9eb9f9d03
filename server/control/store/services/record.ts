import { FACETS } from "../../domain/lists/fields.ts";
import { textAt } from "../../domain/lists/predicate.ts";
import type { Schemas } from "../../domain/nouns.ts";
import { finishedSyncs } from "../../domain/services/finished-syncs.ts";
import { addressOf } from "../../domain/services/placed.ts";
import type { Writer } from "../database/writer.ts";
import type { Stored } from "../objects/objects.ts";
import { addDeployments, relocateDeployments, type Standing } from "./deployments.ts";

/** Records the syncs that a report tells of. It is part of the report's transaction, so what is shown as done is in the history too. */
export async function recordDeployments(
  w: Writer,
  before: Schemas["ApplicationStatus"],
  app: Omit<Stored, "version">,
): Promise<void> {
  if (app.collection !== "applications") return;
  const service = addressOf(textAt(FACETS.service, app), app);
  const environment = addressOf(textAt(FACETS.environment, app), app);
  if (!service || !environment) return;
  const syncs = finishedSyncs(before, app.status);
  if (syncs.length === 0) return;
  const { account, org, project, id, spec } = app;
  const of = { account, org, project, application: id, service, environment };
  const agent = textAt(FACETS.agent, app);
  const cluster = textAt(FACETS.cluster, app);
  await addDeployments(w, { ...of, agent, cluster, namespace: spec.destination?.namespace }, syncs);
}

/** An application is shown in another place: the syncs that its own history tells of go with it, and no others that had its id before. */
export async function moveDeployments(w: Writer, before: Stored, after: Stored): Promise<void> {
  const [from, to] = [standingOf(before), standingOf(after)];
  const syncs = from && to ? finishedSyncs({}, before.status) : [];
  if (syncs.length === 0) return;
  const starts = syncs.map(({ startedAt }) => startedAt);
  await relocateDeployments(w, from!, to!, starts);
}

function standingOf(app: Stored): Standing | undefined {
  const { account, org, project, id } = app;
  const service = addressOf(textAt(FACETS.service, app), app);
  const environment = addressOf(textAt(FACETS.environment, app), app);
  if (app.collection !== "applications" || !service || !environment) return undefined;
  return { account, org, project, application: id, service, environment };
}
