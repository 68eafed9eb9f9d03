import type { Sql } from "./sql.ts";

export interface ServiceKeyRow {
  id: string;
  publicKey: string;
  privateKey: string;
}

/** The account's signing key; `make` is called when there is none, and of two replicas that start together one wins. */
export async function serviceKey(sql: Sql, account: string, make: () => ServiceKeyRow): Promise<ServiceKeyRow> {
  const read = async () => (await sql.query("select * from service_keys where account = $1 order by created_at limit 1", [account]))[0];
  let row = await read();
  if (!row) {
    const key = make();
    await sql.query(
      `insert into service_keys (account, id, public_key, private_key, created_at) select $1, $2, $3, $4, outpost_now()
       where not exists (select 1 from service_keys where account = $1)`,
      [account, key.id, key.publicKey, key.privateKey],
    );
    row = await read();
  }
  return { id: row!.id, publicKey: row!.public_key, privateKey: row!.private_key };
}
