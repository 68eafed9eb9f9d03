import type { Secret } from "../../../base/secret.ts";
import type { Signer } from "../../access/signer.ts";
import { goodVersions } from "../../domain/webhook.ts";
import { COLUMNS, type Stored, toStored } from "../../store/objects.ts";
import type { Sql } from "../../store/sql.ts";

// Somebody's account is asked for in any case, so that an address which was made up takes as long as one that was deleted.
const NOBODY = { account: "default", uid: "00000000-0000-0000-0000-000000000000" };

/** The webhook behind an address, and the time by the store's clock. */
export async function findHook(sql: Sql, signer: Signer, address: string): Promise<{ hook: Stored | undefined; now: Date }> {
  const { account, uid } = signer.openHookId(address) ?? NOBODY;
  const [row] = await sql.query(
    `select ${COLUMNS}, c.n clock from (select outpost_now() n) c left join objects o on o.account = $1 and o.uid = $2 and o.collection = 'webhooks'`,
    [account, uid],
  );
  return { hook: row!.uid ? toStored(row!) : undefined, now: row!.clock };
}

/** The secrets that are good now, the newest first. */
export function secretsOf(signer: Signer, hook: Stored | undefined, now: Date): Secret[] {
  if (!hook) return [signer.hookSecret(NOBODY, 0)];
  return goodVersions(hook.spec, hook.status, now).map((version) => signer.hookSecret(hook, version));
}
