import { hashCredential, makeSession } from "../../access/apikey.ts";
import { Problem } from "../../domain/problem.ts";
import { type Writer, writing } from "../../store/database/writer.ts";
import { endOtherInstances, openSessionRow, otherInstance } from "../../store/identity/sessions.ts";
import { tryLockToken } from "../../store/identity/tokens.ts";
import { bindCluster, tryFindWorker, type WorkerRow } from "../../store/identity/workers.ts";
import { type Stored, tryFindByUid } from "../../store/objects/objects.ts";
import { setConnected } from "../../tasks/presence.ts";
import { HEARTBEAT_SECONDS, LEASE_SECONDS } from "../../tasks/queue/lease.ts";
import type { Services } from "../services.ts";
import type { Call, Handler } from "../typed.ts";
import { accountOf, fitsProof, isFresh, takeNonce } from "./proof.ts";

const SESSION_SECONDS = 3_600;
// Told apart, because a worker gives its identity up for the first and the last only.
const UNKNOWN =
  "This worker is unknown here. If the agent or delegate was deleted or enrolled again, this identity has ended: install it again with a new token.";
const UNSIGNED = "The signature does not fit this worker's key.";
const STALE = "The nonce is too old or was used before. Call the greeting again and sign the new nonce.";
const REVOKED = "The token that this worker enrolled with was revoked, and its identity with it. Give it a new token.";

/** Opens a session for a worker that proves its key. */
export const openSession =
  (s: Services): Handler<"openSession"> =>
  async (call) => {
    const { body } = call;
    const account = accountOf(body.worker);
    // All that a stranger, or a recorded request, can be refused for is looked at outside of the account's line of writers.
    const refuse = (why: "worker" | "proof" | "nonce", problem: Problem) => {
      s.metrics.strangers.inc({ why });
      s.strangers.failed(call.network);
      return problem;
    };
    const worker = account
      ? await s.strangers.door.lookUp(call.network, () => tryFindWorker(s.db, account, body.worker))
      : undefined;
    if (!worker) throw refuse("worker", new Problem("worker_unknown", UNKNOWN));
    if (!fitsProof("session", worker.signKey, body, "signature"))
      throw refuse("proof", new Problem("worker_proof_invalid", UNSIGNED));
    if (!(await isFresh(s, account, body.nonce))) throw refuse("nonce", new Problem("worker_proof_invalid", STALE));
    const text = makeSession(account);
    return writing(s.db, account, async (w) => {
      if (!(await takeNonce(s, w, account, body.nonce))) throw new Problem("worker_proof_invalid", STALE);
      const object = await tryFindByUid(w, account, worker.objectUid);
      if (!object || !(await tryFindWorker(w, account, worker.worker))) throw new Problem("worker_unknown", UNKNOWN);
      if (worker.kind === "delegate" && (await tryLockToken(w, account, worker.tokenId))?.revokedAt)
        throw new Problem("worker_revoked", REVOKED);
      if (worker.kind === "agent") await checkCluster(w, worker, body);
      else await checkAlone(w, worker, body.instance);
      const capacity = worker.kind === "delegate" ? Number(object.spec.capacity ?? 10) : 100;
      const { instance, version, capabilities = [], lacking, tags, type } = body;
      const epoch = await openSessionRow(w, {
        account,
        worker: worker.worker,
        instance,
        version,
        capabilities,
        lacking,
        tags,
        type,
        capacity,
        hash: hashCredential(text.reveal()),
        expiresInSeconds: SESSION_SECONDS,
      });
      await setConnected(w, object, worker, facts(object, body));
      // An older session of this instance has ended; its poll is told.
      w.notify(account, `worker:${worker.worker}`);
      return {
        status: 200,
        body: {
          session: text.reveal(),
          epoch,
          expiresInSeconds: SESSION_SECONDS,
          heartbeatSeconds: HEARTBEAT_SECONDS,
          leaseSeconds: LEASE_SECONDS,
          capacity,
          ...(worker.kind === "agent" ? { features: ["discovered"] } : {}),
        },
      };
    });
  };

/** An agent's identity lives in one cluster: a copy of it elsewhere would fight the first one over every object. */
async function checkCluster(
  w: Parameters<typeof bindCluster>[0],
  worker: WorkerRow,
  body: Call<"openSession">["body"],
): Promise<void> {
  if (worker.clusterUid === undefined) {
    if (body.clusterUid !== undefined) await bindCluster(w, worker.account, worker.worker, body.clusterUid);
    return;
  }
  if (body.clusterUid !== worker.clusterUid)
    throw new Problem(
      "worker_wrong_cluster",
      `The identity of agent \`${worker.id}\` belongs to the cluster with UID ${worker.clusterUid}, this one is ${body.clusterUid ?? "not named"}. Stop this copy, or install it with an enrolment token of its own.`,
    );
}

/** Replicas of a delegate enrol each for itself. A second process with one identity is a copied folder: both would be given the same leases. */
async function checkAlone(w: Writer, worker: WorkerRow, instance: string): Promise<void> {
  const other = await otherInstance(w, { account: worker.account, worker: worker.worker, instance }, LEASE_SECONDS);
  if (other !== undefined)
    throw new Problem(
      "worker_in_use",
      `The instance \`${other}\` uses this identity. If it has ended, this one is admitted ${LEASE_SECONDS} s after it was last heard of; otherwise give this one a work folder of its own, without a copy of the other's identity.`,
    );
  // One that was only silent for so long comes back to a session that lasts an hour: it must not work beside this one.
  await endOtherInstances(w, { account: worker.account, worker: worker.worker, instance });
}

function facts(object: Stored, body: Call<"openSession">["body"]): Record<string, string> {
  if (object.collection !== "agents") return {};
  return {
    version: body.version,
    ...(body.clusterUid ? { clusterUid: body.clusterUid } : {}),
    ...(body.clusterVersion ? { clusterVersion: body.clusterVersion } : {}),
  };
}
