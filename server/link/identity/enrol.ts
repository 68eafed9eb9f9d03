import type { Schemas } from "../../../openapi/client.ts";
import { canonical } from "../../base/json/canonical.ts";
import { again, done, type Outcome, stop } from "../../base/outcome.ts";
import type { Transport } from "../transport/transport.ts";
import { hello } from "./hello.ts";
import type { Enrolment, Identity, IdentityStore } from "./identity.ts";
import { makeKeys, sign } from "./keys.ts";
import { parseToken } from "./token.ts";

export interface EnrolOptions {
  transport: Transport;
  store: IdentityStore;
  /** Read at each try: a mounted token may be replaced while the worker runs. */
  token: () => Promise<string | undefined> | string | undefined;
  kind: "agent" | "delegate";
  instance: string;
  version: string;
  clusterUid?: string | undefined;
  /** Why the service takes the stored identity no longer; undefined while it does. */
  ended?: Ended | undefined;
}

/** The two answers that end an identity. Nothing else does: a proxy's, a restored backup's or a slow line's refusal must not cost leases. */
export type Ended = "worker_unknown" | "worker_revoked";

export type Enrolled = Required<Identity>;

/** The stored identity, or a new one made from the token. May be called again after any failure. */
export async function enrol(options: EnrolOptions): Promise<Outcome<Enrolled>> {
  const { transport, store } = options;
  const loaded = await store.load();
  if (loaded.kind !== "done") return loaded;
  const stored = loaded.value;
  const text = await options.token();
  const token = text === undefined ? undefined : parseToken(text);
  if (stored?.enrolment && !options.ended) return done(stored as Enrolled);
  if (
    stored?.enrolment &&
    options.ended === "worker_revoked" &&
    (token?.kind !== "done" || token.value.id === stored.enrolment.tokenId)
  )
    return stop(
      "TokenRevoked",
      `the token ${stored.enrolment.tokenId} that this worker enrolled with was revoked: create a new one and put it in the old one's place; it is taken without a restart`,
    );
  if (!token)
    return stop(
      "TokenMissing",
      "this worker has not enrolled yet and has no token: set OUTPOST_TOKEN or OUTPOST_TOKEN_FILE",
    );
  if (token.kind !== "done") return token;
  if (stored?.enrolment && stored.enrolment.tokenId === token.value.id && options.kind === "agent") {
    return stop(
      "IdentityRefused",
      "the service does not know this agent any more, and its token is used: create a new token for it (outpost agent token) and install it",
    );
  }
  // A refused identity is given up together with its keys: they were bound to what the service has forgotten.
  let keys = stored && !stored.enrolment ? stored.keys : undefined;
  if (!keys) {
    const saved = await store.save({ keys: await makeKeys() });
    if (saved.kind !== "done") return saved;
    if (saved.value.enrolment) return done(saved.value as Enrolled);
    keys = saved.value.keys;
  }
  const greeted = await hello(transport, { pin: token.value.pin });
  if (greeted.kind !== "done") return greeted;
  const { nonce, keyId, publicKey } = greeted.value;
  const fields = {
    tokenId: token.value.id,
    nonce,
    signKey: keys.signKey,
    sealKey: keys.sealKey,
    instance: options.instance,
    ...(options.clusterUid ? { clusterUid: options.clusterUid } : {}),
    version: options.version,
  };
  const body = { ...fields, proof: sign(token.value.seed, `outpost/enrol/v1\n${canonical(fields)}`) };
  const answer = await transport.call<Schemas["EnrolAnswer"]>("POST", "/v1/worker/enrol", { body });
  // A proof that was late or came twice, as networks deliver them: the next one is fine.
  if (answer.kind !== "done")
    return answer.reason === "worker_proof_invalid" ? again(answer.reason, answer.message) : answer;
  if (answer.value.kind !== options.kind) {
    return stop(
      "WrongKind",
      `this token is for a${answer.value.kind === "agent" ? "n agent" : " delegate"}: start that program with it, or create a token for this one`,
    );
  }
  const { worker, kind, account, org, project, id } = answer.value;
  const enrolment: Enrolment = {
    worker,
    kind,
    account,
    id: id ?? worker,
    tokenId: token.value.id,
    serviceKeyId: keyId,
    serviceKey: publicKey,
    ...(org ? { org } : {}),
    ...(project ? { project } : {}),
  };
  const saved = await store.save({ keys, enrolment });
  if (saved.kind !== "done") return saved;
  return saved.value.enrolment
    ? done(saved.value as Enrolled)
    : stop("IdentityLost", "the identity was taken by another replica that has not enrolled");
}
