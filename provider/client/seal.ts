import {
  createCipheriv,
  createHmac,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
} from "node:crypto";
import { audienceOf, boundTo, SEAL_INFO, type SealContext } from "../../openapi/audience.ts";
import type { components } from "../../openapi/contract/types.ts";

export type SealedEnvelope = components["schemas"]["SealedEnvelope"];

/**
 * Seals credentials to an agent's key as the contract's SealedEnvelope says: HPKE (RFC 9180) base mode, DHKEM(X25519, HKDF-SHA256),
 * HKDF-SHA256, AES-256-GCM, one message; for the addresses of this specification and no others. On `node:crypto` alone, because a library would cost each start more than the rest of the client.
 */
export function seal(
  key: { id: string; publicKey: string },
  context: SealContext,
  { spec, credentials }: { spec: Readonly<Record<string, unknown>>; credentials: object },
  ephemeral = generateKeyPairSync("x25519"),
): SealedEnvelope {
  const recipient = Buffer.from(key.publicKey, "base64url");
  const enc = raw(ephemeral.publicKey);
  const shared = sharedSecret(
    diffieHellman({ privateKey: ephemeral.privateKey, publicKey: publicKeyOf(recipient) }),
    enc,
    recipient,
  );
  const { secretKey, nonce } = schedule(shared, Buffer.from(SEAL_INFO));
  const cipher = createCipheriv("aes-256-gcm", secretKey, nonce);
  const id = randomBytes(16).toString("base64url");
  const audience = audienceOf(context.collection, spec);
  cipher.setAAD(Buffer.from(boundTo(context, id, audience)));
  const ciphertext = Buffer.concat([
    cipher.update(JSON.stringify(credentials), "utf8"),
    cipher.final(),
    cipher.getAuthTag(),
  ]);
  return { keyId: key.id, enc: enc.toString("base64url"), ciphertext: ciphertext.toString("base64url"), id, audience };
}

const version = Buffer.from("HPKE-v1");
/** KEM 0x0020; the whole suite: KEM 0x0020, KDF 0x0001, AEAD 0x0002. */
const kem = Buffer.concat([Buffer.from("KEM"), Buffer.of(0, 0x20)]);
const suite = Buffer.concat([Buffer.from("HPKE"), Buffer.of(0, 0x20, 0, 0x01, 0, 0x02)]);

const hmac = (key: Buffer, ...parts: Buffer[]): Buffer => {
  const out = createHmac("sha256", key);
  for (const part of parts) out.update(part);
  return out.digest();
};
/** HKDF-Extract with the labels of RFC 9180, section 4. */
const extract = (id: Buffer, salt: Buffer, label: string, material: Buffer): Buffer =>
  hmac(salt.length > 0 ? salt : Buffer.alloc(32), version, id, Buffer.from(label), material);
/** HKDF-Expand; at most 32 bytes are ever wanted, so one round is enough. */
const expand = (id: Buffer, key: Buffer, label: string, info: Buffer, length: number): Buffer =>
  hmac(key, Buffer.of(length >> 8, length & 0xff), version, id, Buffer.from(label), info, Buffer.of(1)).subarray(
    0,
    length,
  );

function sharedSecret(dh: Buffer, enc: Buffer, recipient: Buffer): Buffer {
  return expand(
    kem,
    extract(kem, Buffer.alloc(0), "eae_prk", dh),
    "shared_secret",
    Buffer.concat([enc, recipient]),
    32,
  );
}

function schedule(shared: Buffer, info: Buffer): { secretKey: Buffer; nonce: Buffer } {
  const none = Buffer.alloc(0);
  const context = Buffer.concat([
    Buffer.of(0),
    extract(suite, none, "psk_id_hash", none),
    extract(suite, none, "info_hash", info),
  ]);
  const secret = extract(suite, shared, "secret", none);
  return {
    secretKey: expand(suite, secret, "key", context, 32),
    nonce: expand(suite, secret, "base_nonce", context, 12),
  };
}

/** DER heads of a raw X25519 key, public and private (RFC 8410). */
const publicHead = Buffer.from("302a300506032b656e032100", "hex");
const privateHead = Buffer.from("302e020100300506032b656e04220420", "hex");

function publicKeyOf(bytes: Buffer): KeyObject {
  if (bytes.length !== 32) throw new Error("the agent's key is not an X25519 key");
  return createPublicKey({ key: Buffer.concat([publicHead, bytes]), format: "der", type: "spki" });
}
/** A private key from its raw bytes; for the published test vectors. */
export const privateKeyOf = (bytes: Buffer): KeyObject =>
  createPrivateKey({ key: Buffer.concat([privateHead, bytes]), format: "der", type: "pkcs8" });

const raw = (key: KeyObject): Buffer => key.export({ format: "der", type: "spki" }).subarray(-32);
