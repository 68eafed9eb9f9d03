import type { Services } from "../services.ts";
import type { Handler } from "../typed.ts";

/** Proves to a worker that this is the service, before the worker says who it is. */
export const workerHello =
  ({ db, signer }: Services): Handler<"workerHello"> =>
  async (call) => {
    // A worker may know a key already that another replica has made a moment ago. The embedded store has one replica, and a query takes its time.
    if (db.kind !== "embedded") await signer.refresh();
    const { keyId, publicKey, successors } = signer;
    const nonce = signer.makeNonce(Date.now());
    const signature = signer.sign(`outpost/hello/v1\n${call.query.nonce}\n${nonce}`);
    return { status: 200, body: { nonce, keyId, publicKey, signature, ...(successors.length ? { successors: [...successors] } : {}) } };
  };
