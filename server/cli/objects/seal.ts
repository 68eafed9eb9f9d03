import type { SealContext } from "../../../openapi/audience.ts";
import type { Schemas } from "../../../openapi/client.ts";
import { accountOfKey, forgetAgent, refusedKey } from "../../../openapi/known-agents.ts";
import { seal } from "../../../openapi/seal.ts";
import { EXIT, Failure } from "../output/failure.ts";
import type { Io } from "../output/io.ts";
import type { Api, Scope } from "../session/api.ts";
import type { Json } from "../show.ts";

/**
 * Replaces `credentials` in a repository's, credential template's or cluster's spec by an envelope that only its agent can open, so that they
 * never leave this machine in clear. `whole` is the specification as it will be stored: for a patch, that of the stored object with the changes
 * in it. The envelope opens for its agent and its addresses only.
 */
export async function sealCredentials(
  io: Io,
  api: Api,
  collection: string,
  { id, scope, spec }: One,
  whole: Json,
): Promise<Json> {
  if (!isSealed(collection) || !spec.credentials) return spec;
  const { credentials, ...rest } = spec;
  const [owner, name] = agentScope(String(whole.agent ?? ""), scope);
  const [identity, found] = await Promise.all([
    api.call<Schemas["Identity"]>("whoAmI"),
    api.call<Schemas["Agent"]>("getAgent", { path: { id: name }, scope: owner }),
  ]);
  const key = found.status.sealKey;
  if (!key)
    throw new Failure(
      `credentials cannot be sealed: agent ${name} has not enrolled yet, so it has no key`,
      EXIT.conflict,
      {
        hint: `outpost agent wait ${name}`,
      },
    );
  const { endpoint, apiKey = "" } = api.target;
  const where = { endpoint, account: accountOfKey(apiKey), org: owner.org, project: owner.project, agent: name };
  const refused = refusedKey(io.env, { ...where, publicKey: key.publicKey });
  if (refused) throw new Failure(`credentials are not sealed: ${refused}`, EXIT.denied);
  const context: SealContext = { account: identity.account, org: scope.org, project: scope.project, collection, id };
  return { ...rest, sealedCredentials: await seal(key, context, whole, credentials) };
}

/** An agent that was just created: its key is not the one that an agent of this id had before. */
export function forgetKey(
  io: Io,
  { target: { endpoint, apiKey = "" } }: Api,
  { id, scope }: Pick<One, "id" | "scope">,
): void {
  forgetAgent(io.env, { endpoint, account: accountOfKey(apiKey), org: scope.org, project: scope.project, agent: id });
}

interface One {
  id: string;
  scope: Scope;
  spec: Json;
}

const isSealed = (collection: string): collection is SealContext["collection"] =>
  collection === "repositories" || collection === "repositorycredentials" || collection === "clusters";

/** A reference names an object in this scope, in the organisation above (`org.`) or in the account (`account.`). */
export function agentScope(reference: string, scope: Scope): [Scope, string] {
  if (reference.startsWith("account.")) return [{}, reference.slice("account.".length)];
  if (reference.startsWith("org.")) return [{ org: scope.org }, reference.slice("org.".length)];
  return [scope, reference];
}
