import type { Secret } from "../../../base/secret.ts";
import type { Hook, Signer } from "../../access/signer.ts";
import { type SecretSource, validSecrets } from "../../domain/webhook.ts";
import type { Sql } from "../../store/database/sql.ts";
import { COLUMNS, type Stored, toStored } from "../../store/objects/objects.ts";

const NOBODY = { account: "default", uid: "00000000-0000-0000-0000-000000000000" };

/**
 * The webhook behind an address, and the time by the store's clock. A webhook that was rotated to another key has another address: the old one
 * ends with the old secret.
 */
export async function findHook(
  sql: Sql,
  signer: Signer,
  { account, uid, key }: Hook & { key: string },
): Promise<Found> {
  const [row] = await sql.query(
    `select ${COLUMNS}, c.n clock from (select outpost_now() n) c left join objects o on o.account = $1 and o.uid = $2 and o.collection = 'webhooks'`,
    [account, uid],
  );
  const now: Date = row!.clock;
  const hook = row!.uid ? toStored(row!) : undefined;
  const secrets = hook ? validSecrets(hook.spec, hook.status, now) : [];
  if (!hook || !secrets.some((one) => (one.key ?? signer.firstKeyId) === key))
    return { hook: undefined, now, secrets: [signer.hookSecret(NOBODY, { version: 0, rotation: 0 })!] };
  return { hook, now, secrets: await secretsOf(signer, hook, secrets) };
}

interface Found {
  hook: Stored | undefined;
  now: Date;
  /** The secrets that are valid now; of a webhook that is not there one that no call is signed with. */
  secrets: Secret[];
}

async function secretsOf(signer: Signer, hook: Hook, sources: readonly SecretSource[]): Promise<Secret[]> {
  await signer.learn(sources.map(({ key }) => key));
  return sources.map((source) => signer.hookSecret(hook, source)).filter((secret) => secret !== undefined);
}
