import { appendFile, mkdir, open } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { viewAudit } from "./api/audit/view.ts";
import { deleteAudit, lockTrim, oldestAudit } from "./store/audit.ts";
import type { Database, Row } from "./store/database/sql.ts";

/** Lines that one step takes; steps follow each other until nothing old is left, or this run has had its share. */
const STEP = 5_000;
const STEPS = 20;

export interface AuditKeeping {
  /** Lines older than this are removed; 0 keeps them for ever. */
  retentionSeconds: number;
  /** Where they are written first. */
  exportDir: string | undefined;
}

/**
 * Removes what is older than the retention, in small steps, oldest first. With a folder, a line is removed only after it stands there: JSON
 * lines in gzip, one file an account and day. A step that fails changes nothing in the database and is repeated; a crash between writing and removing
 * writes lines twice, which their `seq` shows. One replica trims at a time.
 */
export async function trimAudit(db: Database, { retentionSeconds, exportDir }: AuditKeeping): Promise<number> {
  if (retentionSeconds === 0) return 0;
  let trimmed = 0;
  for (const { account } of await db.query<{ account: string }>("select account from accounts"))
    trimmed += await trimAccount(db, account, { retentionSeconds, exportDir });
  return trimmed;
}

async function trimAccount(
  db: Database,
  account: string,
  { retentionSeconds, exportDir }: AuditKeeping,
): Promise<number> {
  let trimmed = 0;
  for (let step = 0; step < STEPS; step++) {
    const rows = await db.transaction(async (tx) => {
      if (!(await lockTrim(tx))) return [];
      const old = await oldestAudit(tx, account, retentionSeconds, STEP);
      if (exportDir !== undefined) await write(exportDir, old);
      await deleteAudit(tx, old);
      return old;
    });
    trimmed += rows.length;
    if (rows.length < STEP) break;
  }
  return trimmed;
}

async function write(dir: string, rows: readonly Row[]): Promise<void> {
  const files = new Map<string, string[]>();
  for (const row of rows) {
    const name = `audit-${row.account}-${row.at.toISOString().slice(0, 10)}.jsonl.gz`;
    files.set(name, [...(files.get(name) ?? []), `${JSON.stringify({ account: row.account, ...viewAudit(row) })}\n`]);
  }
  if (files.size > 0) await mkdir(dir, { recursive: true, mode: 0o700 });
  for (const [name, lines] of files) {
    const path = join(dir, name);
    // gzip files may be put behind each other: `zcat` reads all of them.
    await appendFile(path, await promisify(gzip)(lines.join("")), { mode: 0o600 });
    const file = await open(path, "r");
    try {
      await file.sync();
    } finally {
      await file.close();
    }
  }
}
