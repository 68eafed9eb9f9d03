import { audienceOf, beyond, type Difference, keepsNothing, type SealContext } from "../../../../openapi/audience.ts";
import type { ProblemCode } from "../../../../openapi/contract/codes.ts";
import { seal } from "../../../../openapi/seal.ts";
import { type Collection, nouns, type Schemas } from "../../domain/nouns.ts";
import { Problem } from "../../domain/problem.ts";
import type { Scope } from "../../domain/scope.ts";
import type { Stored } from "../../store/objects/objects.ts";

export type Envelope = Schemas["SealedEnvelope"];
type Sealed = SealContext["collection"];

export const mayHaveCredentials = (collection: Collection): collection is Sealed => nouns[collection].credentials;

interface Given {
  collection: Sealed;
  id: string;
  /** The specification that the credentials come with: they are for its addresses. */
  spec: Record<string, unknown>;
  credentials: Record<string, unknown> | undefined;
  sealed: Envelope | undefined;
}

/**
 * The credentials of a request as an envelope that only the agent can open. This is the edge: plain credentials live in memory
 * until here and are stored, logged and relayed nowhere.
 */
export async function sealFor(agent: Stored, scope: Scope, given: Given): Promise<Envelope | undefined> {
  const { collection, id, spec, credentials, sealed } = given;
  if (!credentials && !sealed) return undefined;
  const key = agent.status.sealKey as { id: string; publicKey: string } | undefined;
  if (!key)
    throw new Problem(
      "agent_not_enrolled",
      `Credentials are sealed to the key of agent \`${agent.id}\`, which has not enrolled yet. Install it first, or leave the credentials out for now.`,
      { pointer: credentials ? "/spec/credentials" : "/spec/sealedCredentials" },
    );
  if (sealed) {
    checkSealed(sealed, key.id, collection, spec);
    return sealed;
  }
  const context = {
    account: scope.account,
    org: scope.org || undefined,
    project: scope.project || undefined,
    collection,
    id,
  };
  return seal(key, context, spec, credentials!);
}

/** Refuses at once what the agent would refuse: the agent trusts only its own look into the envelope. */
function checkSealed(sealed: Envelope, key: string, collection: Sealed, spec: Record<string, unknown>): void {
  if (sealed.keyId !== key)
    throw new Problem(
      "credentials_key_mismatch",
      `The credentials are sealed to key ${sealed.keyId}, the agent's key is ${key}. Read the agent's status.sealKey and seal them again.`,
      { pointer: "/spec/sealedCredentials/keyId" },
    );
  if (!sealed.id || !sealed.audience)
    throw new Problem(
      "credentials_audience_mismatch",
      "The envelope does not say where the credentials may be sent: a client of an older version sealed them. Upgrade it and seal them again.",
      { pointer: "/spec/sealedCredentials/audience" },
    );
  refuseDifferences(
    "credentials_audience_mismatch",
    beyond(collection, sealed.audience, audienceOf(collection, spec)),
    "after the credentials were sealed. Seal them again for this specification.",
  );
}

/**
 * Refuses a change that would send the credentials that the agent holds elsewhere, or with less protection. The agent refuses it too, but
 * only this answer reaches the user at once.
 */
export function checkKept(collection: Sealed, before: Stored, spec: Record<string, unknown>): void {
  if (before.status.credentials !== "Pending" && before.status.credentials !== "Delivered") return;
  if (keepsNothing(before.spec, spec)) return;
  refuseDifferences(
    "credentials_required",
    beyond(collection, audienceOf(collection, before.spec), audienceOf(collection, spec)),
    "and the credentials are not sent there unless they are given again: send them with this change, and change `credentialsVersion`.",
  );
}

function refuseDifferences(code: ProblemCode, found: readonly Difference[], advice: string): void {
  const [first] = found;
  if (!first) return;
  const sentence = ({ message }: Difference) => `${message.charAt(0).toUpperCase()}${message.slice(1)} ${advice}`;
  const pointer = ({ field }: Difference) => (field ? `/spec/${field}` : "/spec/sealedCredentials/audience");
  const errors = found.map((one) => ({ code, detail: sentence(one), pointer: pointer(one) }));
  throw new Problem(code, sentence(first), { pointer: pointer(first), errors });
}
