import { tryParseDuration } from "../../../base/lang/duration.ts";
import type { ObjectOf } from "../../domain/nouns.ts";
import { Problem } from "../../domain/problem.ts";
import { rotated } from "../../domain/webhook.ts";
import { currentServiceKey } from "../../store/identity/servicekeys.ts";
import { updateObject } from "../../store/objects/objects.ts";
import { findObject, show } from "../nouns/find.ts";
import { clock } from "../nouns/save.ts";
import type { Services } from "../services.ts";
import type { Call } from "../typed.ts";
import { write } from "../write.ts";

const DEFAULT_OVERLAP = "24h";
const MAX_OVERLAP_MS = 7 * 86_400_000;

/**
 * Makes a new secret, and a new address if the service's key was replaced since. The key is read in the transaction: a replica that has not heard
 * of the newest key yet must not derive from the one that it replaced.
 */
export const rotateWebhookSecret =
  (s: Services) =>
  (call: Call<"rotateWebhookSecret">): Promise<{ status: 200; body: ObjectOf<"webhooks"> }> =>
    write(s, call, async (w) => {
      const overlapMs = overlapOf(call.body?.overlap ?? DEFAULT_OVERLAP);
      const hook = await findObject(w, "webhooks", call.scope, call.params.id);
      if (hook.deletionRequestedAt)
        throw new Problem("being_deleted", "The webhook is being deleted, so its secret cannot be rotated.");
      const status = rotated(
        { spec: hook.spec as ObjectOf<"webhooks">["spec"], status: hook.status },
        { key: await currentServiceKey(w), now: await clock(w), overlapMs },
      );
      return { status: 200, body: show<"webhooks">(await updateObject(w, { ...hook, status: { ...status } })) };
    });

function overlapOf(text: string): number {
  const ms = tryParseDuration(text);
  if (ms === undefined || ms > MAX_OVERLAP_MS)
    throw new Problem(
      "invalid_field",
      "`overlap` must be a duration from `0s` to `168h` (seven days), for example `24h`.",
      {
        pointer: "/overlap",
      },
    );
  return ms;
}
