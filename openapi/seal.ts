import { randomBytes } from "node:crypto";
import { Aes256Gcm, CipherSuite, DhkemX25519HkdfSha256, HkdfSha256 } from "@hpke/core";
import { type Audience, audienceOf, boundTo, SEAL_INFO, type SealContext } from "./audience.ts";

/** HPKE base mode as the contract's SealedEnvelope says: X25519, HKDF-SHA256, AES-256-GCM. */
const suite = new CipherSuite({ kem: new DhkemX25519HkdfSha256(), kdf: new HkdfSha256(), aead: new Aes256Gcm() });
const info = bytes(SEAL_INFO);

export interface SealedEnvelope {
  keyId: string;
  enc: string;
  ciphertext: string;
  /** Random; an agent opens an envelope once. Envelopes of versions before have none. */
  id?: string;
  /** Where the credentials may be sent; authenticated together with them. */
  audience?: Audience;
}

/** Seals a JSON object of credentials to `publicKey` (X25519, raw, base64url), for the addresses of this specification and no others. */
export async function seal(
  key: { id: string; publicKey: string },
  context: SealContext,
  spec: Readonly<Record<string, unknown>>,
  credentials: Record<string, unknown>,
): Promise<SealedEnvelope> {
  const id = randomBytes(16).toString("base64url");
  const audience = audienceOf(context.collection, spec);
  const recipientPublicKey = await suite.kem.deserializePublicKey(decode(key.publicKey));
  const sender = await suite.createSenderContext({ recipientPublicKey, info });
  const ciphertext = await sender.seal(bytes(JSON.stringify(credentials)), bytes(boundTo(context, id, audience)));
  return { keyId: key.id, enc: encode(sender.enc), ciphertext: encode(ciphertext), id, audience };
}

/** Opens an envelope with the private key (X25519, raw, base64url). Throws when the key, the object, the audience or a byte differs. */
export async function open(
  privateKey: string,
  context: SealContext,
  envelope: SealedEnvelope,
): Promise<Record<string, unknown>> {
  const recipientKey = await suite.kem.deserializePrivateKey(decode(privateKey));
  const recipient = await suite.createRecipientContext({ recipientKey, enc: decode(envelope.enc), info });
  const bound = bytes(boundTo(context, envelope.id ?? "", envelope.audience ?? {}));
  const plain = await recipient.open(decode(envelope.ciphertext), bound);
  return JSON.parse(new TextDecoder().decode(plain));
}

/** A fresh pair of raw X25519 keys, base64url. */
export async function generateSealKeys(): Promise<{ publicKey: string; privateKey: string }> {
  const pair = await suite.kem.generateKeyPair();
  return {
    publicKey: encode(await suite.kem.serializePublicKey(pair.publicKey)),
    privateKey: encode(await suite.kem.serializePrivateKey(pair.privateKey)),
  };
}

function bytes(text: string): ArrayBuffer {
  return new Uint8Array(new TextEncoder().encode(text)).buffer;
}
function encode(data: ArrayBuffer): string {
  return Buffer.from(data).toString("base64url");
}
function decode(text: string): ArrayBuffer {
  return new Uint8Array(Buffer.from(text, "base64url")).buffer;
}
