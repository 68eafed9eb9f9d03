import type { KubeClient } from "../../kube/client.ts";
import { KUBE } from "../../kube/errors.ts";
import { type KubeObject, keyOf } from "../../kube/object.ts";
import { appliedOf } from "../controller/compare/applied.ts";
import { applyOnClientSide, isClientSide } from "../controller/compare/client-side.ts";
import { NOTHING } from "../controller/compare/ignore.ts";
import { hasLeftovers } from "../controller/compare/last-applied.ts";
import { hasTextLeftovers } from "../controller/compare/plain-texts.ts";
import { withoutUnknownFields } from "../controller/compare/unknown-fields.ts";
import type { RenderedApplication } from "./manifests.ts";

/**
 * What applying the targets would make of the live objects, by key, as the API server answers a dry run: it stores nothing, and knows every
 * default and every list with keys. An object that could not be tried is left out, and its result is predicted instead: the account may only
 * read, a webhook takes no dry run, or the live object still has fields that only its annotation of the last apply tells of.
 */
export async function tryOut(
  client: KubeClient,
  { app, targets }: RenderedApplication,
  live: ReadonlyMap<string, KubeObject>,
): Promise<Map<string, KubeObject>> {
  const tried = new Map<string, KubeObject>();
  const options = app.spec.syncPolicy?.syncOptions ?? [];
  // Rights are asked for by the kind: a kind that was refused once is not tried again.
  const refused = new Set<string>();
  for (const target of targets) {
    const { object, resource, hook } = target;
    const current = live.get(keyOf(object));
    if (!resource || hook || !current || refused.has(`${resource.group}/${resource.plural}`)) continue;
    if (hasTextLeftovers(current, object) || (!appliedOf(current) && hasLeftovers(current, object, NOTHING))) continue;
    const trial = { ...target };
    const answer = await withoutUnknownFields(trial, options, () =>
      isClientSide(trial.object, options)
        ? applyOnClientSide(client, resource, trial.object, { options, there: true, dryRun: true })
        : client.apply(resource, trial.object, { dryRun: true }),
    );
    if (answer.kind === "done") tried.set(keyOf(object), answer.value);
    else if (answer.reason === KUBE.forbidden) refused.add(`${resource.group}/${resource.plural}`);
  }
  return tried;
}
