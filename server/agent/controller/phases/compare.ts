import type { Failure } from "../../../base/outcome.ts";
import { instanceOf } from "../../project/instance.ts";
import { tenantOf } from "../../project/tenant.ts";
import { isShown } from "../cluster/resource-membership.ts";
import { kindId } from "../cluster/watch-kinds.ts";
import type { CompareTarget } from "../compare/normalise.ts";
import { appLabel } from "../tracking.ts";
import type { Placed } from "./context.ts";
import { isSame } from "./verdict.ts";

type Unseen = ReadonlyMap<string, Failure>;

/** Whether each object is as Git has it. */
export const compareTargets = (look: Placed, targets: readonly CompareTarget[], unseen: Unseen): Promise<boolean[]> =>
  Promise.all(targets.map((target) => compareOne(look, target, unseen)));

async function compareOne(
  { app, memory: { verdicts }, destination }: Placed,
  target: CompareTarget,
  unseen: Unseen,
): Promise<boolean> {
  const { client, settings, live, own } = destination;
  const current = live.get(target.key, appLabel(instanceOf(app, own)));
  if (!current || !target.resource || unseen.has(kindId(target.object))) return false;
  const known = verdicts.get(target, current);
  if (known !== undefined) return known;
  const judged = await isSame(client, target, current, { app, settings });
  // A failed dry run means a difference: an immutable field, a webhook that refuses. The sync will report the reason.
  if (judged.kind === "again") return false;
  const same = judged.kind === "done" && judged.value;
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
      // An account that may not read it must not learn that it exists.
      const got = await destination.writer.get(resource!, object.metadata.namespace, object.metadata.name);
      if (got.kind === "again") return;
      // Nor may a tenant learn the state of another application's object.
      const shown =
        got.kind === "done" && (tenantOf(app) === undefined || (await isShown(app, destination, got.value)));
      memory.unlabelled.set(key, shown ? got.value : undefined);
    }),
  );
}
