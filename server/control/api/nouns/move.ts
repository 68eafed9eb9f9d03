import { isDelivered, type Noun } from "../../domain/nouns.ts";
import { Problem } from "../../domain/problem.ts";
import type { Spec } from "../../domain/rules/spec.ts";
import type { Writer } from "../../store/database/writer.ts";
import { giveUp, keepDeliveries, renewDelivery, renewUid, restartAge } from "../../store/objects/moves.ts";
import type { Stored } from "../../store/objects/objects.ts";
import { removeIdentities } from "./identities.ts";
import { findAgentOf } from "./references.ts";

/** What a write makes of an object that exists: a new spec, a new spec that may name another agent, or another object under the same id. */
export type UpdateKind = "update" | "move" | "replace";

/** The agent that must give an object up, because its new spec names another one. Refused unless the write asks for a move. */
export async function agentToLeave(
  w: Writer,
  noun: Noun,
  existing: Stored,
  next: { agent: Stored | undefined; spec: Spec; change: UpdateKind },
): Promise<Stored | undefined> {
  const before = noun.moves.length > 0 ? await findAgentOf(w, existing) : undefined;
  if (!before || !next.agent || before.uid === next.agent.uid) return undefined;
  if (next.change === "update")
    throw new Problem(
      "immutable_field",
      `\`agent\` changes from \`${existing.spec.agent}\` to \`${next.spec.agent}\`: send \`move=true\` to move the object. The agent before gives it up and deletes nothing in a cluster.`,
      { pointer: "/spec/agent" },
    );
  const holds = existing.status.credentials;
  const given = next.spec.credentials !== undefined || next.spec.sealedCredentials !== undefined;
  if (!given && (holds === "Pending" || holds === "Delivered"))
    throw new Problem(
      "invalid_field",
      `The credentials are sealed to agent \`${before.id}\`, and agent \`${next.agent.id}\` cannot open them: give \`credentials\` again, with another \`credentialsVersion\`.`,
      { pointer: "/spec/credentials" },
    );
  return before;
}

/** Puts an object under a new uid in the place of the one before. What refers to it refers to the new one. */
export async function succeed(
  w: Writer,
  existing: Stored,
  leaves: Stored | undefined,
  change: UpdateKind,
): Promise<Stored> {
  const uid = await renewUid(w, existing.uid);
  if (change === "replace") await restartAge(w, uid);
  if (leaves) await giveUp(w, existing.uid, uid);
  else if (isDelivered(existing.collection)) await renewDelivery(w, existing.uid, uid);
  if (existing.collection === "agents" || existing.collection === "delegates") {
    await removeIdentities(w, existing);
    await keepDeliveries(w, existing.uid, uid);
  }
  return { ...existing, uid, deletionRequestedAt: undefined };
}
