import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Database } from "../store/database/sql.ts";
import { countAccountAdmins, insertKey, OPERATOR } from "../store/identity/keys.ts";
import { ensureAccount } from "../store/store.ts";
import { hashCredential, isApiKey, makeApiKey } from "./apikey.ts";

export const FIRST_ACCOUNT = "default";
const KEY_ID = "admin";

export interface FirstKey {
  /** Where the administrator's key stands; undefined when it was preset, or made in an earlier start. */
  path: string | undefined;
}

/**
 * Makes the first account and its administrator's key. The key is written to a file that only this user can read, before its hash is
 * stored: after a crash between the two the next start finds the file and continues with it.
 */
export async function firstStart(db: Database, dir: string, preset: string | undefined): Promise<FirstKey> {
  await ensureAccount(db, FIRST_ACCOUNT);
  if (preset !== undefined) {
    if (!isApiKey(preset) || !preset.startsWith(`opk_${FIRST_ACCOUNT}_`))
      throw new Error(
        `OUTPOST_ADMIN_KEY must have the form opk_${FIRST_ACCOUNT}_<43 characters of base64url>, as: opk_${FIRST_ACCOUNT}_$(head -c 32 /dev/urandom | basenc --base64url | tr -d =)`,
      );
    // A new preset takes the place of the one before.
    await db.query("delete from api_keys where account = $1 and org = '' and project = '' and id = $2 and hash <> $3", [
      FIRST_ACCOUNT,
      KEY_ID,
      hashCredential(preset),
    ]);
    await add(db, preset);
    return { path: undefined };
  }
  if ((await countAccountAdmins(db, FIRST_ACCOUNT)).valid > 0) return { path: undefined };
  const path = join(dir, "admin-key");
  const kept = (await readFile(path, "utf8").catch(() => "")).trim();
  const text = isApiKey(kept) ? kept : makeApiKey(FIRST_ACCOUNT).reveal();
  await mkdir(dir, { recursive: true, mode: 0o700 });
  await writeFile(path, `${text}\n`, { mode: 0o600 });
  // The mode of writeFile counts only for a new file.
  await chmod(path, 0o600);
  await add(db, text);
  return { path };
}

async function add(db: Database, text: string): Promise<void> {
  const scope = { account: FIRST_ACCOUNT, org: "", project: "" };
  await insertKey(db, { ...scope, id: KEY_ID, role: "admin", hash: hashCredential(text), lineage: OPERATOR });
}
