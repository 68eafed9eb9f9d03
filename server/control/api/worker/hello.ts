import type { Services } from "../services.ts";
import type { Handler } from "../typed.ts";

/** Proves to a worker that this is the service, before the worker says who it is. */
export const workerHello =
  (s: Services): Handler<"workerHello"> =>
  async (call) => {
    const { keyId, publicKey } = s.signer;
    const nonce = s.signer.makeNonce(Date.now());
    return { status: 200, body: { nonce, keyId, publicKey, signature: s.signer.sign(`outpost/hello/v1\n${call.query.nonce}\n${nonce}`) } };
  };
