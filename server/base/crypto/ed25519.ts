import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  sign as signWith,
  verify as verifyWith,
} from "node:crypto";
import { Secret } from "../secret.ts";

// DER heads of RFC 8410 keys; what follows is the raw key.
const PRIVATE = Buffer.from("302e020100300506032b657004220420", "hex");
const PUBLIC = Buffer.from("302a300506032b6570032100", "hex");

export interface Ed25519Pair {
  /** Raw, base64url. */
  publicKey: string;
  /** The 32-byte seed, base64url. */
  seed: Secret;
}

export function makeEd25519(): Ed25519Pair {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  return {
    publicKey: publicKey.export({ format: "der", type: "spki" }).subarray(PUBLIC.length).toString("base64url"),
    seed: new Secret(
      privateKey.export({ format: "der", type: "pkcs8" }).subarray(PRIVATE.length).toString("base64url"),
    ),
  };
}

/** Signs with a seed; the signature is base64url. */
export function ed25519Signer(seed: Secret): (text: string) => string {
  const key = createPrivateKey({
    key: Buffer.concat([PRIVATE, Buffer.from(seed.reveal(), "base64url")]),
    format: "der",
    type: "pkcs8",
  });
  return (text) => signWith(null, Buffer.from(text), key).toString("base64url");
}

/** False also for a malformed key or signature: both come from strangers. */
export function ed25519Verify(publicKey: string, text: string, signature: string): boolean {
  const key = exactly(publicKey, 32);
  const bytes = exactly(signature, 64);
  if (!key || !bytes) return false;
  return verifyWith(
    null,
    Buffer.from(text),
    createPublicKey({ key: Buffer.concat([PUBLIC, key]), format: "der", type: "spki" }),
    bytes,
  );
}

/** Node's decoder skips characters that are not base64url, so many texts would mean one key: only the canonical text counts. */
export function exactly(text: string, length: number): Buffer | undefined {
  const bytes = Buffer.from(text, "base64url");
  return bytes.length === length && bytes.toString("base64url") === text ? bytes : undefined;
}
