import { ed25519Verify } from "../../../base/crypto/ed25519.ts";
import { canonical, digest } from "../../../base/json/canonical.ts";
import { ACCOUNT } from "../../access/apikey.ts";
import { NONCE_SECONDS } from "../../access/signer.ts";
import type { Sql } from "../../store/database/sql.ts";
import { isUsed, useNonce } from "../../store/identity/nonces.ts";
import type { Services } from "../services.ts";

/** Whether `signature` is `publicKey`'s over the purpose and all other fields of the request. */
export function fitsProof(
  purpose: "enrol" | "session",
  publicKey: string,
  request: Record<string, unknown>,
  field: "proof" | "signature",
): boolean {
  const { [field]: signature, ...fields } = request;
  return ed25519Verify(publicKey, `outpost/${purpose}/v1\n${canonical(fields)}`, String(signature));
}

/** Whether the nonce is ours, young, and used for the first time. */
export async function takeNonce(s: Services, sql: Sql, account: string, nonce: string): Promise<boolean> {
  return s.signer.fitsNonce(nonce, Date.now()) && (await useNonce(sql, account, digest(nonce), 2 * NONCE_SECONDS));
}

/** Whether the nonce would be taken now; nothing is written. */
export async function isFresh(s: Services, account: string, nonce: string): Promise<boolean> {
  return s.signer.fitsNonce(nonce, Date.now()) && !(await isUsed(s.db, account, digest(nonce)));
}

/** Token and worker ids begin with their account: `default-1f…`. */
export function accountOf(id: string): string {
  const account = id.slice(0, Math.max(id.lastIndexOf("-"), 0));
  return ACCOUNT.test(account) ? account : "";
}
