import { createHash, randomBytes } from "node:crypto";
import { exactly } from "../../../base/crypto/ed25519.ts";
import { Problem } from "../../domain/problem.ts";
import { addAudit } from "../../store/audit.ts";
import type { Sql } from "../../store/database/sql.ts";
import { type Writer, writing } from "../../store/database/writer.ts";
import { countUse, type TokenRow, tryFindToken, tryLockToken } from "../../store/identity/tokens.ts";
import { insertWorker, removeWorkers, type WorkerRow, workersOf } from "../../store/identity/workers.ts";
import { dropSealed } from "../../store/objects/deliveries.ts";
import { type Stored, tryFindByUid, updateObject } from "../../store/objects/objects.ts";
import type { Services } from "../services.ts";
import type { Call, Handler, Reply } from "../typed.ts";
import { accountOf, fitsProof, isFresh, takeNonce } from "./proof.ts";

const UNPROVEN = "The proof does not fit the token and the fields. The token may have been cut when it was copied.";
const STALE = "The nonce is too old or was used before. Call the greeting again and sign the new nonce.";
const INVALID =
  "The enrolment token is unknown, used by another worker, expired or revoked. Create a new one for this agent or delegate.";

/** Turns a token into an identity. The same worker may ask again (its answer got lost); another one finds an agent's token used. */
export const enrolWorker =
  (s: Services): Handler<"enrolWorker"> =>
  async (call) => {
    const { body } = call;
    const account = accountOf(body.tokenId);
    if (!exactly(body.signKey, 32) || !exactly(body.sealKey, 32))
      throw new Problem("worker_proof_invalid", "signKey and sealKey are 32 raw bytes as base64url.");
    const earlier = await checkToken(s, account, call);
    if (earlier) return answer(earlier);
    return writing(s.db, account, (w) => enrol(s, w, call));
  };

/**
 * Refuses what can be refused by reading alone, outside of the account's line of writers: strangers neither hold that up nor write a row. Only
 * the refusal of a real token, shown with a good proof, is audited. The result is the identity that the same worker was given before.
 */
async function checkToken(s: Services, account: string, call: Call<"enrolWorker">): Promise<WorkerRow | undefined> {
  const { body } = call;
  const refuse = (why: "token" | "proof" | "nonce", problem: Problem) => {
    s.metrics.strangers.inc({ why });
    s.strangers.failed(call.network);
    return problem;
  };
  const token = account
    ? await s.strangers.door.lookUp(call.network, () => tryFindToken(s.db, account, body.tokenId))
    : undefined;
  if (!token) throw refuse("token", new Problem("token_invalid", INVALID));
  if (!fitsProof("enrol", token.publicKey, body, "proof"))
    throw refuse("proof", new Problem("worker_proof_invalid", UNPROVEN));
  const object = await tryFindByUid(s.db, account, token.objectUid);
  // Before the nonce, which a network that delivers a request twice has used up. The answer has nothing in it that is not for all to know.
  const earlier = object && (await findEarlier(s.db, object, token, body));
  if (earlier) return earlier;
  // Before the nonce too: with one that was not given a worker can ask whether its token is good, and nothing is made or used up.
  if (!object || !usable(token)) {
    const problem = refuse("token", new Problem("token_invalid", INVALID));
    if (s.strangers.refusals.take(`${account}/${token.id}`))
      await addAudit(s.db, { ...lineOf(account, call, object), outcome: "denied", code: problem.code });
    throw problem;
  }
  if (!(await isFresh(s, account, body.nonce))) throw refuse("nonce", new Problem("worker_proof_invalid", STALE));
  return undefined;
}

/** The same checks under the lock, where a token that was used or revoked meanwhile shows. */
async function enrol(s: Services, w: Writer, call: Call<"enrolWorker">): Promise<Reply<"enrolWorker">> {
  const { body } = call;
  const token = await tryLockToken(w, w.account, body.tokenId);
  const object = token && (await tryFindByUid(w, w.account, token.objectUid));
  if (!token || !object) throw new Problem("token_invalid", INVALID);
  const earlier = await findEarlier(w, object, token, body);
  if (earlier) return answer(earlier);
  if (!usable(token)) throw new Problem("token_invalid", INVALID);
  if (!(await takeNonce(s, w, w.account, body.nonce))) throw new Problem("worker_proof_invalid", STALE);
  const worker = await admit(w, object, token, body);
  await addAudit(w, { ...lineOf(w.account, call, object), outcome: "accepted" });
  return answer(worker);
}

function lineOf(account: string, { body, address, requestId }: Call<"enrolWorker">, object: Stored | undefined) {
  return {
    account,
    org: object?.org ?? "",
    project: object?.project ?? "",
    actor: `token:${body.tokenId}`,
    address,
    operation: "enrolWorker",
    target: object?.id,
    request: requestId,
  };
}

/** The identity that this token has given to the same keys before. */
async function findEarlier(
  sql: Sql,
  object: Stored,
  token: TokenRow,
  { signKey, sealKey }: Call<"enrolWorker">["body"],
): Promise<WorkerRow | undefined> {
  const workers = await workersOf(sql, object.account, [object.uid]);
  return workers.find((x) => x.tokenId === token.id && x.signKey === signKey && x.sealKey === sealKey);
}

function usable(token: TokenRow): boolean {
  return !token.revokedAt && !token.expired && (token.maxUses === 0 || token.uses < token.maxUses);
}

async function admit(
  w: Writer,
  object: Stored,
  token: TokenRow,
  body: Call<"enrolWorker">["body"],
): Promise<WorkerRow> {
  const kind = object.collection === "agents" ? "agent" : "delegate";
  const before = kind === "agent" ? await workersOf(w, w.account, [object.uid]) : [];
  // An agent has one identity. A new token is the consent to replace it: after a reinstallation, or a move to another cluster.
  if (before.length > 0)
    await removeWorkers(
      w,
      w.account,
      before.map((x) => x.worker),
    );
  await countUse(w, w.account, token.id);
  const worker = await insertWorker(w, {
    account: w.account,
    org: object.org,
    project: object.project,
    worker: `${w.account}-${randomBytes(12).toString("hex")}`,
    kind,
    objectUid: object.uid,
    id: object.id,
    signKey: body.signKey,
    sealKey: body.sealKey,
    instance: body.instance,
    clusterUid: body.clusterUid,
    tokenId: token.id,
    version: body.version,
  });
  if (kind === "agent") await adopt(w, object, worker, before[0]);
  return worker;
}

/** Writes the new identity into the agent's status; what was sealed to an older key is worth nothing any more. */
async function adopt(w: Writer, agent: Stored, worker: WorkerRow, before: WorkerRow | undefined): Promise<void> {
  const sealKey = {
    id: createHash("sha256").update(worker.sealKey).digest("hex").slice(0, 16),
    publicKey: worker.sealKey,
  };
  const status = {
    ...agent.status,
    sealKey,
    enrolledAt: worker.enrolledAt.toISOString(),
    version: worker.version,
    ...(worker.clusterUid ? { clusterUid: worker.clusterUid } : {}),
  };
  await updateObject(w, { ...agent, status });
  if (!before || before.sealKey === worker.sealKey) return;
  const lost = new Set(await dropSealed(w, agent.uid));
  const moved = before.clusterUid !== worker.clusterUid;
  // In the same cluster the agent still finds its Secrets; in another it has none of them.
  const rows = await w.query(
    "select uid from deliveries where account = $1 and agent_uid = $2 and collection in ('repositories', 'repositorycredentials', 'clusters')",
    [w.account, agent.uid],
  );
  for (const { uid } of rows) {
    const object = await tryFindByUid(w, w.account, uid);
    if (object && object.status.credentials !== "None" && (moved || lost.has(uid)))
      await updateObject(w, { ...object, status: { ...object.status, credentials: "None" } });
  }
}

function answer(x: WorkerRow): Reply<"enrolWorker"> {
  return {
    status: 200,
    body: {
      worker: x.worker,
      kind: x.kind,
      account: x.account,
      ...(x.org ? { org: x.org } : {}),
      ...(x.project ? { project: x.project } : {}),
      id: x.id,
    },
  };
}
