import type { Services } from "../services.ts";
import type { Handler } from "../typed.ts";
import { write } from "../write.ts";

/** Replaces the key that the service signs with. Workers learn of it from the next thing it signs; nothing is restarted. */
export const rotateServiceKey =
  (s: Services): Handler<"rotateServiceKey"> =>
  async (call) => {
    const reply = await write(s, call, async (w) => {
      const { keyId, publicKey } = await s.signer.rotate(w);
      return { status: 200 as const, body: { keyId, publicKey } };
    });
    await s.signer.refresh();
    return reply;
  };
