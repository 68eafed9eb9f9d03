import type { Client, Place, Stored } from "../client/client.ts";
import type { ApplyContext, PrivateState, ResourceContext } from "../protocol/provider.ts";
import { unknown, type ValueMap } from "../value/value.ts";
import { type Judge, type Waited, waitFor } from "../wait/wait.ts";

/** In the private data of an object that was created and is not yet what its configuration says. */
const UNREADY = "unready";

/**
 * Terraform destroys and makes again whatever a failed creation leaves. An object that was created and is not ready yet must not be destroyed: a
 * slow roll-out must not end with the deletion of what it has deployed. So its creation succeeds with a warning and this mark, and the next
 * apply waits again; that is an update, whose failure destroys nothing. An object
 * that was taken over (`taken`) has deployed something before, whatever keeps it from being ready now.
 */
export function noteUnready(context: ApplyContext<Client>, action: string, waited: Waited, taken: boolean): boolean {
  if (waited.kind === "done" || (waited.kind === "failed" && !waited.deployed && !taken)) return false;
  context.private.set(UNREADY, true);
  const why = waited.kind === "problem" ? waited.problem.detail : waited.reason;
  context.diagnostics.warning(
    `${action}: ${taken ? "taken over" : "created"}, and not ready yet`,
    `The last reason was: ${why}. The object stays as it is, and the next apply waits for it again. Give it longer with \`timeouts\`, or look into the reason.`,
  );
  return true;
}

/** Waits for a new object. An interrupt ends the wait; the object exists all the same. */
export async function waitForCreated(
  client: Client,
  place: Place,
  judge: Judge,
  limit: { deadline: number; signal: AbortSignal },
  { log }: ApplyContext<Client>,
  stored: Stored,
): Promise<Waited> {
  try {
    return await waitFor(client, place, judge, limit, log, stored);
  } catch (error) {
    if (!limit.signal.aborted) throw error;
    return { kind: "timeout", reason: "the run was interrupted while it waited", stored };
  }
}

/** Plans one more wait for an object that was not ready, by an update that changes nothing of it. */
export function planWait(planned: ValueMap, prior: ValueMap, { private: kept }: ResourceContext<Client>): ValueMap {
  if (!kept.has(UNREADY)) return planned;
  if (planned.get("wait") !== true) {
    kept.delete(UNREADY);
    return planned;
  }
  return planned.get("generation") === prior.get("generation") ? new Map(planned).set("generation", unknown) : planned;
}

/** Takes the mark away from an object that has become what its configuration says. */
export async function noteReady(kept: PrivateState, stored: Stored, judge: Judge | undefined): Promise<void> {
  if (kept.has(UNREADY) && (!judge || (await judge(stored)).kind === "done")) kept.delete(UNREADY);
}

/** A wait that ended well has nothing to repeat. */
export const forgetUnready = (kept: PrivateState): void => void kept.delete(UNREADY);
