import type { Services } from "../services.ts";
import type { Handler, Reply } from "../typed.ts";

export const workerHello =
  (s: Services): Handler<"workerHello"> =>
  async (call) => ({ status: 200, body: await workerGreeting(s, call.query.nonce) });

/** Proves to a worker that this is the service, before the worker says who it is. */
export async function workerGreeting({ db, signer }: Services, theirs: string): Promise<Reply<"workerHello">["body"]> {
  // A worker may know a key already that another replica has made a moment ago. The embedded store has one replica, and a query takes its time.
  if (db.kind !== "embedded") await signer.refresh();
  const { keyId, publicKey, successors } = signer;
  const nonce = signer.makeNonce(Date.now());
  const signature = signer.sign(`outpost/hello/v1\n${theirs}\n${nonce}`);
  return { nonce, keyId, publicKey, signature, ...(successors.length ? { successors: [...successors] } : {}) };
}
