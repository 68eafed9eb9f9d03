import { type SealContext, seal } from "../../../../openapi/seal.ts";
import { type Collection, nouns, type Schemas } from "../../domain/nouns.ts";
import { Problem } from "../../domain/problem.ts";
import type { Scope } from "../../domain/scope.ts";
import type { Stored } from "../../store/objects.ts";

export type Envelope = Schemas["SealedEnvelope"];
type Sealed = SealContext["collection"];

export const mayHaveCredentials = (collection: Collection): collection is Sealed => nouns[collection].credentials;

/**
 * The credentials of a request as an envelope that only the agent can open. This is the edge: plain credentials live in memory
 * until here and are stored, logged and relayed nowhere.
 */
export async function sealFor(
  agent: Stored,
  scope: Scope,
  collection: Sealed,
  id: string,
  credentials: Record<string, unknown> | undefined,
  sealed: Envelope | undefined,
): Promise<Envelope | undefined> {
  if (!credentials && !sealed) return undefined;
  const key = agent.status.sealKey as { id: string; publicKey: string } | undefined;
  if (!key)
    throw new Problem(
      "agent_not_enrolled",
      `Credentials are sealed to the key of agent \`${agent.id}\`, which has not enrolled yet. Install it first, or leave the credentials out for now.`,
      { pointer: credentials ? "/spec/credentials" : "/spec/sealedCredentials" },
    );
  if (sealed) {
    if (sealed.keyId === key.id) return sealed;
    throw new Problem(
      "credentials_key_mismatch",
      `The credentials are sealed to key ${sealed.keyId}, the agent's key is ${key.id}. Read the agent's status.sealKey and seal them again.`,
      { pointer: "/spec/sealedCredentials/keyId" },
    );
  }
  return seal(
    key,
    { account: scope.account, org: scope.org || undefined, project: scope.project || undefined, collection, id },
    credentials!,
  );
}
