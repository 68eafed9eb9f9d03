import { createCipheriv, createDecipheriv, createHash, createHmac, hkdfSync, randomBytes, timingSafeEqual } from "node:crypto";
import { canonical } from "../../base/canonical.ts";
import { ed25519Signer, makeEd25519 } from "../../base/ed25519.ts";
import { Secret } from "../../base/secret.ts";
import { serviceKey } from "../store/servicekeys.ts";
import type { Database } from "../store/sql.ts";
import { writing } from "../store/writer.ts";

/** How long a worker may take to sign the nonce it was given. */
export const NONCE_SECONDS = 60;

/** The service's own key and what is derived from it. All replicas load the same one. */
export interface Signer {
  keyId: string;
  publicKey: string;
  /** First 32 characters of SHA-256 of the public key, base64url: stands in tokens, so that workers know whom to trust. */
  pin: string;
  sign(text: string): string;
  /** A WorkerObject or WorkerTask as it goes out. */
  signed(body: unknown): { body: string; signature: string; keyId: string };
  makeNonce(nowMs: number): string;
  /** Whether the nonce is ours and young enough. That it counts once is the store's business. */
  fitsNonce(nonce: string, nowMs: number): boolean;
  encrypt(key: string, text: string): Buffer;
  decrypt(key: string, data: Uint8Array): string;
}

export async function loadSigner(db: Database, account: string): Promise<Signer> {
  // The key belongs to the service, not to an account: its account is "". Any account's lock does to keep two replicas from making two.
  const row = await writing(db, account, (w) =>
    serviceKey(w, "", () => {
      const { publicKey, seed } = makeEd25519();
      return { id: createHash("sha256").update(publicKey).digest("hex").slice(0, 16), publicKey, privateKey: seed.reveal() };
    }),
  );
  return makeSigner(row.id, row.publicKey, new Secret(row.privateKey));
}

export function makeSigner(keyId: string, publicKey: string, seed: Secret): Signer {
  const sign = ed25519Signer(seed);
  const derive = (purpose: string, extra = "") => Buffer.from(hkdfSync("sha256", seed.reveal() + extra, "outpost", purpose, 32));
  const nonceKey = derive("nonce");
  const mac = (text: string) => createHmac("sha256", nonceKey).update(text).digest("base64url").slice(0, 32);
  return {
    keyId,
    publicKey,
    pin: createHash("sha256").update(Buffer.from(publicKey, "base64url")).digest("base64url").slice(0, 32),
    sign,
    signed(value) {
      const body = canonical(value);
      return { body, signature: sign(`outpost/signed/v1\n${body}`), keyId };
    },
    makeNonce(nowMs) {
      const text = `${nowMs.toString(36)}.${randomBytes(16).toString("base64url")}`;
      return `${text}.${mac(text)}`;
    },
    fitsNonce(nonce, nowMs) {
      const at = nonce.lastIndexOf(".");
      const want = Buffer.from(mac(nonce.slice(0, at)));
      const got = Buffer.from(nonce.slice(at + 1));
      if (at < 0 || want.length !== got.length || !timingSafeEqual(want, got)) return false;
      const made = Number.parseInt(nonce.slice(0, nonce.indexOf(".")), 36);
      return made <= nowMs + 1_000 && nowMs - made <= NONCE_SECONDS * 1_000;
    },
    // AES-256-GCM under a key from the client's text and ours: a dump of the store alone opens nothing.
    encrypt(key, text) {
      const iv = randomBytes(12);
      const cipher = createCipheriv("aes-256-gcm", derive("answer", key), iv);
      const data = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
      return Buffer.concat([iv, cipher.getAuthTag(), data]);
    },
    decrypt(key, data) {
      const bytes = Buffer.from(data);
      const decipher = createDecipheriv("aes-256-gcm", derive("answer", key), bytes.subarray(0, 12));
      decipher.setAuthTag(bytes.subarray(12, 28));
      return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString("utf8");
    },
  };
}
