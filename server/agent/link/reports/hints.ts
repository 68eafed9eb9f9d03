import { again, done, type Outcome } from "../../../base/outcome.ts";
import { KUBE } from "../../../kube/errors.ts";
import type { KubeObject } from "../../../kube/object.ts";
import { RESOURCES } from "../../../kube/path.ts";
import { HINTS, type Hint, hintKey, MAX_HINTS, readHint } from "../../controller/loop/hints.ts";
import type { AgentContext } from "../context.ts";

// Another client may write at the same time.
const TRIES = 5;

/** Writes a hint for the controller that repositories have changed. */
export async function leaveHints(
  ctx: AgentContext,
  hints: readonly Omit<Hint, "at">[],
  now = Date.now(),
): Promise<Outcome<undefined>> {
  for (let attempt = 0; attempt < TRIES; attempt++) {
    const found = await ctx.client.get(RESOURCES.configMap, ctx.namespace, HINTS);
    if (found.kind !== "done" && found.reason !== KUBE.notFound) return found;
    const existing = found.kind === "done" ? found.value : undefined;
    const base: KubeObject = {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: HINTS, namespace: ctx.namespace, labels: { "app.kubernetes.io/part-of": "argocd" } },
    };
    const next = { ...base, ...existing, data: withHints(existing?.data ?? {}, hints, now) };
    const written = existing
      ? await ctx.client.update(RESOURCES.configMap, next)
      : await ctx.client.create(RESOURCES.configMap, next);
    if (written.kind === "done") return done(undefined);
    if (written.reason !== KUBE.conflict && written.reason !== KUBE.alreadyExists) return written;
  }
  return again(KUBE.conflict, `ConfigMap ${HINTS} changes faster than it can be written`);
}

/** The ConfigMap's data with new hints. Beyond the bound malformed ones are dropped first, then the oldest. */
export function withHints(
  data: Record<string, unknown>,
  hints: readonly Omit<Hint, "at">[],
  now: number,
): Record<string, unknown> {
  const next = { ...data };
  for (const { url, revision, refs } of hints) {
    const key = hintKey(url);
    // A second hint within a millisecond must differ, or the watch would not report it.
    const last = Date.parse(readHint(next[key])?.at ?? "");
    const at = new Date(last >= now && last < now + 60_000 ? last + 1 : now).toISOString();
    next[key] = JSON.stringify({ url, at, ...(revision ? { revision } : {}), ...(refs?.length ? { refs } : {}) });
  }
  const ages = Object.keys(next).map((key) => [key, readHint(next[key])?.at ?? ""] as const);
  ages.sort(([, a], [, b]) => (a < b ? 1 : -1));
  for (const [key] of ages.slice(MAX_HINTS)) delete next[key];
  return next;
}
