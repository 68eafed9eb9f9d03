import { Aes256Gcm, CipherSuite, DhkemX25519HkdfSha256, HkdfSha256 } from "@hpke/core";

/** HPKE base mode as the contract's SealedEnvelope says: X25519, HKDF-SHA256, AES-256-GCM. */
const suite = new CipherSuite({ kem: new DhkemX25519HkdfSha256(), kdf: new HkdfSha256(), aead: new Aes256Gcm() });
const info = bytes("outpost/credentials/v1");

export interface SealedEnvelope {
  keyId: string;
  enc: string;
  ciphertext: string;
}

/** The object that an envelope is bound to; an envelope moved to another object does not open. */
export interface SealContext {
  account: string;
  org?: string | undefined;
  project?: string | undefined;
  collection: "repositories" | "repositorycredentials" | "clusters";
  id: string;
}

/** Seals a JSON object of credentials to `publicKey` (X25519, raw, base64url). */
export async function seal(
  key: { id: string; publicKey: string },
  context: SealContext,
  credentials: Record<string, unknown>,
): Promise<SealedEnvelope> {
  const recipientPublicKey = await suite.kem.deserializePublicKey(decode(key.publicKey));
  const sender = await suite.createSenderContext({ recipientPublicKey, info });
  const ciphertext = await sender.seal(bytes(JSON.stringify(credentials)), aad(context));
  return { keyId: key.id, enc: encode(sender.enc), ciphertext: encode(ciphertext) };
}

/** Opens an envelope with the private key (X25519, raw, base64url). Throws when the key, the object or a byte differs. */
export async function open(privateKey: string, context: SealContext, envelope: SealedEnvelope): Promise<Record<string, unknown>> {
  const recipientKey = await suite.kem.deserializePrivateKey(decode(privateKey));
  const recipient = await suite.createRecipientContext({ recipientKey, enc: decode(envelope.enc), info });
  const plain = await recipient.open(decode(envelope.ciphertext), aad(context));
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

function aad(c: SealContext): ArrayBuffer {
  return bytes([c.account, c.org ?? "-", c.project ?? "-", c.collection, c.id].join("/"));
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
