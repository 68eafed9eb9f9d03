import { randomBytes } from "node:crypto";
import { makeEd25519 } from "../../../base/crypto/ed25519.ts";
import { tryParseDuration } from "../../../base/lang/duration.ts";
import type { Caller } from "../../access/authenticate.ts";
import type { Schemas } from "../../domain/nouns.ts";
import { notFound, Problem } from "../../domain/problem.ts";
import type { Scope } from "../../domain/scope.ts";
import type { Writer } from "../../store/database/writer.ts";
import {
  expireToken,
  insertToken,
  listTokens,
  revokeToken,
  type TokenRow,
  tryLockToken,
} from "../../store/identity/tokens.ts";
import { endWorkersOf } from "../../store/identity/workers.ts";
import { checkEnd, lifetimeOf, seconds } from "../account/lifetime.ts";
import { findObject } from "../nouns/find.ts";
import type { Services } from "../services.ts";
import type { Call, Handler } from "../typed.ts";
import { type WriteCall, write } from "../write.ts";

type Collection = "agents" | "delegates";
/** An agent's token lasts for one installation; a delegate's is kept by its deployment, whose replicas come and go. */
const DEFAULT_SECONDS = { agents: 24 * 3_600, delegates: 365 * 24 * 3_600 };

/** For which worker, and who asks for it. */
export interface NewToken {
  collection: Collection;
  call: { caller: Caller | undefined; scope: Scope; params: { id: string } };
  expiresIn?: string | undefined;
}

/** Makes a token; its text exists only in the answer. The service keeps the public half of its key. */
export async function makeToken(
  s: Services,
  w: Writer,
  { collection, call, expiresIn }: NewToken,
): Promise<{ row: TokenRow; text: string }> {
  const object = await findObject(w, collection, call.scope, call.params.id);
  const { publicKey, seed } = makeEd25519();
  const row = await insertToken(w, {
    account: w.account,
    id: `${w.account}-${randomBytes(8).toString("hex")}`,
    objectUid: object.uid,
    publicKey,
    ...lifetimeOf(call.caller, expiresIn, DEFAULT_SECONDS[collection]),
    maxUses: collection === "agents" ? 1 : 0,
  });
  checkEnd("A token", row, call.caller);
  return { row, text: `ot1_${row.id}_${seed.reveal()}_${s.signer.pin}` };
}

function view(t: TokenRow): Schemas["WorkerToken"] {
  return {
    id: t.id,
    createdAt: t.createdAt.toISOString(),
    expiresAt: t.expiresAt.toISOString(),
    ...(t.revokedAt ? { revokedAt: t.revokedAt.toISOString() } : {}),
    uses: t.uses,
    maxUses: t.maxUses,
  };
}

type CreateCall = WriteCall & { params: { id: string }; body?: Schemas["WorkerTokenRequest"] | undefined };
const create = (s: Services, collection: Collection) => (call: CreateCall) =>
  write(s, call, async (w) => {
    const { row, text } = await makeToken(s, w, { collection, call, expiresIn: call.body?.expiresIn });
    return { status: 201 as const, body: { ...view(row), token: text }, headers: { "Cache-Control": "no-store" } };
  });

type ListCall = Pick<Call<"listAgentTokens">, "params" | "scope">;
const list = (s: Services, collection: Collection) => async (call: ListCall) => {
  const object = await findObject(s.db, collection, call.scope, call.params.id);
  return { status: 200 as const, body: { items: (await listTokens(s.db, call.scope.account, object.uid)).map(view) } };
};

type RevokeCall = WriteCall & { params: { id: string; token: string } };
const revoke = (s: Services, collection: Collection) => (call: RevokeCall) =>
  write(s, call, async (w) => {
    const object = await findObject(w, collection, call.scope, call.params.id);
    if (!(await revokeToken(w, w.account, object.uid, call.params.token))) throw notFound();
    // The replicas of a delegate keep its token and live with it: they end now, and what they run is lost to them. An agent's token
    // was used up by its one enrolment; the agent stays connected until its object is deleted.
    if (collection === "delegates" && (await endWorkersOf(w, w.account, call.params.token)) > 0)
      w.notify(w.account, "sessions");
    return { status: 204 as const };
  });

/** Makes a successor; the old token stays valid for the overlap, so that deployments can be changed one after the other. */
const rotate = (s: Services) => (call: Call<"rotateDelegateToken">) =>
  write(s, call, async (w) => {
    const { overlap = "1h", expiresIn } = call.body ?? {};
    const object = await findObject(w, "delegates", call.scope, call.params.id);
    const old = await tryLockToken(w, w.account, call.params.token);
    if (!old || old.objectUid !== object.uid) throw notFound();
    if (old.revokedAt || old.expired)
      throw new Problem("conflict", "The token has ended already: there is no overlap. Create a new one.");
    const { row, text } = await makeToken(s, w, { collection: "delegates", call, expiresIn });
    await expireToken(w, w.account, old.id, tryParseDuration(overlap) === 0 ? 0 : seconds(overlap, "/overlap"));
    return { status: 201 as const, body: { ...view(row), token: text }, headers: { "Cache-Control": "no-store" } };
  });

export const createAgentToken = (s: Services): Handler<"createAgentToken"> => create(s, "agents");
export const createDelegateToken = (s: Services): Handler<"createDelegateToken"> => create(s, "delegates");
export const listAgentTokens = (s: Services): Handler<"listAgentTokens"> => list(s, "agents");
export const listDelegateTokens = (s: Services): Handler<"listDelegateTokens"> => list(s, "delegates");
export const revokeAgentToken = (s: Services): Handler<"revokeAgentToken"> => revoke(s, "agents");
export const revokeDelegateToken = (s: Services): Handler<"revokeDelegateToken"> => revoke(s, "delegates");
export const rotateDelegateToken = (s: Services): Handler<"rotateDelegateToken"> => rotate(s);
