import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  sign as signWith,
  verify as verifyWith,
} from "node:crypto";
import { generateSealKeys } from "../../../openapi/seal.ts";
import { Secret } from "../../base/secret.ts";

/** A worker's own keys, made where it runs: Ed25519 to prove who it is, X25519 for credentials sealed to it. Raw, base64url. */
export interface Keys {
  signSeed: Secret;
  signKey: string;
  sealSeed: Secret;
  sealKey: string;
}

// DER heads of RFC 8410 keys; what follows is the raw key.
const PRIVATE = Buffer.from("302e020100300506032b657004220420", "hex");
const PUBLIC = Buffer.from("302a300506032b6570032100", "hex");

export async function makeKeys(): Promise<Keys> {
  const { privateKey } = generateKeyPairSync("ed25519");
  const signSeed = new Secret(
    privateKey.export({ format: "der", type: "pkcs8" }).subarray(PRIVATE.length).toString("base64url"),
  );
  const seal = await generateSealKeys();
  return { signSeed, signKey: publicKeyOf(signSeed), sealSeed: new Secret(seal.privateKey), sealKey: seal.publicKey };
}

/** The public half of an Ed25519 seed, raw, base64url. */
export function publicKeyOf(seed: Secret): string {
  return createPublicKey(privateKey(seed))
    .export({ format: "der", type: "spki" })
    .subarray(PUBLIC.length)
    .toString("base64url");
}

export function sign(seed: Secret, text: string): string {
  return signWith(null, Buffer.from(text), privateKey(seed)).toString("base64url");
}

/** False also for a malformed key or signature, or one that is not canonical base64url. */
export function verify(publicKey: string, text: string, signature: string): boolean {
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

function privateKey(seed: Secret) {
  const key = Buffer.concat([PRIVATE, Buffer.from(seed.reveal(), "base64url")]);
  return createPrivateKey({ key, format: "der", type: "pkcs8" });
}

// Node's decoder skips characters that are not base64url, so many texts would mean the same bytes.
function exactly(text: string, length: number): Buffer | undefined {
  const bytes = Buffer.from(text, "base64url");
  return bytes.length === length && bytes.toString("base64url") === text ? bytes : undefined;
}
