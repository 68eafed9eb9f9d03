import { done, type Failure, type Outcome, stop } from "../../../base/outcome.ts";
import { KUBE } from "../../../kube/errors.ts";
import type { Application } from "../application.ts";
import type { Verdicts } from "../compare/compare.ts";
import type { CompareTarget } from "../compare/normalise.ts";
import { withoutUnknownFields } from "../compare/unknown-fields.ts";
import type { Destination } from "../destination.ts";
import { syncOption } from "../order.ts";
import type { Task } from "../tasks.ts";
import { isUnchangeable, mannerOf, send } from "./apply.ts";
import { advisedFailure, leftOut } from "./messages.ts";
import { SHARED } from "./namespace-owner.ts";
import { leftToOther, otherOwner } from "./other-owner.ts";

interface Sync {
  app: Application;
  targets: readonly CompareTarget[];
  destination: Destination;
  verdicts: Verdicts;
  unseen: ReadonlyMap<string, Failure>;
}

// Some webhooks have side effects and are not called in a dry run.
const NOT_TRIED = /does not support dry run/;

/** The effect of an apply. Asks the API server for a dry run where that tells more than is known already. */
export async function tryDryRun(
  { app, targets, destination, verdicts }: Sync,
  { object, hook, target }: Task,
  options: readonly string[],
): Promise<Outcome<string>> {
  const other = otherOwner(destination, target!, app);
  if (other) return stop(SHARED, leftToOther(destination, object, { app, other }));
  const current = destination.live.find(target!.key);
  // Its kind comes with the sync.
  if (!target!.resource) return done("created");
  // The object is deleted first, so the new one cannot be compared with it.
  if (hook && current) return done("created");
  const { anew, forces } = mannerOf(object, options);
  if (current && anew) return done("configured");
  if (current && verdicts.get(target!, current)) return done("unchanged");
  const trial = { ...target!, object };
  const tried = await withoutUnknownFields(trial, options, () =>
    send(destination, trial.resource!, trial.object, { current, options, dryRun: true }),
  );
  // A new object has no version.
  if (tried.kind === "done")
    return done(`${tried.value.metadata.resourceVersion ? "configured" : "created"}${leftOut(trial)}`);
  const change = current ? "configured" : "created";
  // It is deleted and created again.
  if (current && forces && isUnchangeable(tried)) return done(change);
  if (NOT_TRIED.test(tried.message)) return done(`${change}, which could not be tried: ${tried.message}`);
  const { namespace } = object.metadata;
  const comes =
    targets.some(({ key }) => key === `/Namespace//${namespace}`) ||
    (namespace === app.spec.destination.namespace && syncOption("CreateNamespace", undefined, options) === "true");
  return tried.reason === KUBE.namespaceNotFound && comes ? done(change) : advisedFailure(tried);
}
