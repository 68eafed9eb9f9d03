import { createPrivateKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";
import type { RealService } from "../real.ts";

/** DER heads of Ed25519 keys (RFC 8410) are 16 and 12 bytes; what follows is the raw key. */
const SEED_HEAD = Buffer.from("302e020100300506032b657004220420", "hex");
const raw = (key: KeyObject): string => key.export({ format: "der", type: "spki" }).subarray(-32).toString("base64url");

/**
 * Enrols an agent as the contract says and goes no further: credentials can then be sealed to its key. The key that would open them is
 * thrown away.
 */
export async function enrolAgent(service: RealService, id: string): Promise<void> {
  const { body } = await service.ask("POST", `/v1/agents/${id}/tokens`, {});
  const [, tokenId, seed] = /^ot1_([A-Za-z0-9-]+)_([A-Za-z0-9_-]{43})_/.exec(String(body.token)) ?? [];
  if (!seed) throw new Error(`no token for agent ${id}: ${JSON.stringify(body)}`);
  const hello = await service.ask("GET", `/v1/worker/hello?nonce=${randomBytes(16).toString("base64url")}`);
  const fields: Record<string, unknown> = {
    tokenId,
    nonce: hello.body.nonce,
    signKey: raw(generateKeyPairSync("ed25519").publicKey),
    sealKey: raw(generateKeyPairSync("x25519").publicKey),
    instance: `${id}-0`,
    clusterUid: `cluster-of-${id}`,
    version: "0.1.0",
  };
  const sorted = JSON.stringify(Object.fromEntries(Object.entries(fields).sort(([a], [b]) => (a < b ? -1 : 1))));
  const key = createPrivateKey({
    key: Buffer.concat([SEED_HEAD, Buffer.from(seed, "base64url")]),
    format: "der",
    type: "pkcs8",
  });
  const proof = sign(null, Buffer.from(`outpost/enrol/v1\n${sorted}`), key).toString("base64url");
  const answer = await service.ask("POST", "/v1/worker/enrol", { ...fields, proof });
  if (answer.status !== 200) throw new Error(`agent ${id} could not enrol: ${JSON.stringify(answer.body)}`);
}
