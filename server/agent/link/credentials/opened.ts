import { done, type Outcome } from "../../../base/outcome.ts";
import { KUBE } from "../../../kube/errors.ts";
import { RESOURCES } from "../../../kube/path.ts";
import { trustName } from "../../project/trust-names.ts";
import type { AgentContext } from "../context.ts";
import { changeConfigMap } from "../entries.ts";

/**
 * Ids of envelopes whose Secret no longer remembers them: it was deleted, or has opened many since. Without this, someone who kept an
 * envelope could create the object again and get its credentials back. Each tenant has a ConfigMap of its own, so that none can push
 * the ids of another one out.
 */
export const OPENED_BEFORE = "outpost-opened-credentials";
// 23 bytes each: far below what an object of the cluster may hold.
const MAX_IDS = 5_000;

const idsIn = (data: Record<string, string> | undefined): string[] =>
  (data?.ids ?? "").split("\n").filter((id) => id !== "");

export async function wasOpenedBefore(
  ctx: AgentContext,
  tenant: string | undefined,
  id: string,
): Promise<Outcome<boolean>> {
  const found = await ctx.client.get(RESOURCES.configMap, ctx.namespace, trustName(OPENED_BEFORE, tenant));
  if (found.kind !== "done") return found.reason === KUBE.notFound ? done(false) : found;
  return done(idsIn(found.value.data as Record<string, string> | undefined).includes(id));
}

/** Call it before the Secret forgets them. */
export async function rememberOpened(
  ctx: AgentContext,
  tenant: string | undefined,
  ids: readonly string[],
): Promise<Outcome<undefined>> {
  if (ids.length === 0) return done(undefined);
  return changeConfigMap(ctx, { name: trustName(OPENED_BEFORE, tenant), tenant }, (data) => {
    const known = idsIn(data);
    const added = ids.filter((id) => !known.includes(id));
    return done(
      added.length === 0 ? undefined : { data: { ...data, ids: [...added, ...known].slice(0, MAX_IDS).join("\n") } },
    );
  });
}
