import type { Failure } from "../../../base/outcome.ts";
import { instanceOf } from "../../project/instance.ts";
import { tenantOf } from "../../project/tenant.ts";
import { isShown } from "../cluster/resource-membership.ts";
import { kindId } from "../cluster/watch-kinds.ts";
import { comparing, covered, dryRun } from "../compare/compare.ts";
import { ignoring } from "../compare/ignore.ts";
import { hasLeftovers } from "../compare/last-applied.ts";
import type { CompareTarget } from "../compare/normalise.ts";
import { hasTextLeftovers } from "../compare/plain-texts.ts";
import { withoutUnknownFields } from "../compare/unknown-fields.ts";
import { appLabel } from "../tracking.ts";
import type { Placed } from "./context.ts";

type Unseen = ReadonlyMap<string, Failure>;

/** Whether each object is as Git has it. */
export const compareTargets = (look: Placed, targets: readonly CompareTarget[], unseen: Unseen): Promise<boolean[]> =>
  Promise.all(targets.map((target) => isSame(look, target, unseen)));

async function isSame(
  { app, memory: { verdicts }, destination }: Placed,
  target: CompareTarget,
  unseen: Unseen,
): Promise<boolean> {
  const { client, settings, live, own } = destination;
  const current = live.get(target.key, appLabel(instanceOf(app, own)));
  if (!current || !target.resource || unseen.has(kindId(target.object))) return false;
  const known = verdicts.get(target, current);
  if (known !== undefined) return known;
  let same = covered(target.object, current);
  // The engine before us may have applied what Git has no longer; server-side apply takes only what its own manager has.
  const ignored = ignoring(app, settings.rules, target.object);
  if (hasTextLeftovers(current, target.object, ignored) || hasLeftovers(current, target.object, ignored)) {
    verdicts.set(target, current, false);
    return false;
  }
  if (!same) {
    const options = app.spec.syncPolicy?.syncOptions ?? [];
    const tried = await withoutUnknownFields(target, options, () =>
      dryRun(client, target, current, comparing(app, settings, target.object)),
    );
    // What cannot be tried cannot be the same: an immutable field, a refusing webhook. The sync will say why.
    if (tried.kind === "again") return false;
    same = tried.kind === "done" && tried.value;
  }
  verdicts.set(target, current, same);
  return same;
}

/**
 * Objects that exist without our label are not in the watch. An application that syncs by itself will write them anyway; for one that
 * waits for its user, missing and present are different news, so they are looked up once for each revision.
 */
export async function lookUpUnlabelled(
  { app, memory, destination }: Placed,
  targets: readonly CompareTarget[],
  unseen: Unseen,
): Promise<void> {
  const { automated } = app.spec.syncPolicy ?? {};
  if (automated && automated.enabled !== false) return;
  const label = appLabel(instanceOf(app, destination.own));
  const open = targets.filter(
    (t) =>
      t.resource &&
      !memory.unlabelled.has(t.key) &&
      !destination.live.get(t.key, label) &&
      !unseen.has(kindId(t.object)),
  );
  await Promise.all(
    open.map(async ({ key, resource, object }) => {
      // An account that may not read it is not told that it is there.
      const got = await destination.writer.get(resource!, object.metadata.namespace, object.metadata.name);
      if (got.kind === "again") return;
      // Nor is a tenant told how the object of another application is.
      const shown =
        got.kind === "done" && (tenantOf(app) === undefined || (await isShown(app, destination, got.value)));
      memory.unlabelled.set(key, shown ? got.value : undefined);
    }),
  );
}
