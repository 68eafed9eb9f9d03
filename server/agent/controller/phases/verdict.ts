import { isDeepStrictEqual } from "node:util";
import { done, type Outcome } from "../../../base/outcome.ts";
import type { KubeClient } from "../../../kube/client.ts";
import type { KubeObject } from "../../../kube/object.ts";
import type { Application } from "../application.ts";
import { attempt, comparing, countedOf, covered } from "../compare/compare.ts";
import { ignoring } from "../compare/ignore.ts";
import { hasLeftovers, LAST_APPLIED } from "../compare/last-applied.ts";
import type { CompareTarget } from "../compare/normalise.ts";
import { hasTextLeftovers } from "../compare/plain-texts.ts";
import { predict } from "../compare/three-way.ts";
import { withoutUnknownFields } from "../compare/unknown-fields.ts";
import type { Settings } from "../settings.ts";

/** The application and the settings for which an object is compared. */
interface Judged {
  readonly app: Application;
  readonly settings: Settings;
}

/** Whether the live object is as Git has it, where that shows without a request; undefined where the API server has to be asked. */
export function isSameAtSight(target: CompareTarget, live: KubeObject, { app, settings }: Judged): boolean | undefined {
  // The engine before us may have applied what Git has no longer; server-side apply takes only what its own manager has.
  const ignored = ignoring(app, settings.rules, target.object);
  if (hasTextLeftovers(live, target.object, ignored) || hasLeftovers(live, target.object, ignored)) return false;
  return covered(target.object, live) ? true : undefined;
}

/** The live object before and after a sync, reduced to the compared fields: equal means Synced. */
export async function sidesOf(
  client: KubeClient,
  target: CompareTarget,
  live: KubeObject,
  { app, settings }: Judged,
): Promise<Outcome<{ live: KubeObject; next: KubeObject }>> {
  const options = app.spec.syncPolicy?.syncOptions ?? [];
  const how = comparing(app, settings, target.object);
  const tried = await withoutUnknownFields(target, options, () => attempt(client, target, live, how));
  if (tried.kind !== "done" || isSameAtSight(target, live, { app, settings }) !== false) return tried;
  // What left Git and belongs to another manager is removed after the apply.
  const text = live.metadata.annotations?.[LAST_APPLIED];
  const { next } = tried.value;
  const annotations = { ...next.metadata.annotations, ...(text === undefined ? {} : { [LAST_APPLIED]: text }) };
  const after = predict(
    target.object,
    text === undefined ? live : { ...next, metadata: { ...next.metadata, annotations } },
  );
  return done({ live: tried.value.live, next: countedOf(after, { live, wanted: target.object }, how) });
}

/** Whether a sync would change nothing of a live object that counts. */
export async function isSame(
  client: KubeClient,
  target: CompareTarget,
  live: KubeObject,
  judged: Judged,
): Promise<Outcome<boolean>> {
  const known = isSameAtSight(target, live, judged);
  if (known !== undefined) return done(known);
  const sides = await sidesOf(client, target, live, judged);
  return sides.kind === "done" ? done(isDeepStrictEqual(sides.value.next, sides.value.live)) : sides;
}
