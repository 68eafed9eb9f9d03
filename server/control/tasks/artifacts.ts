import { createHash } from "node:crypto";
import type { Readable } from "node:stream";
import { Problem } from "../domain/problem.ts";
import { type ArtifactRow, addPiece, dropUpload, newUpload, saveArtifact, sumArtifacts } from "../store/artifacts.ts";
import type { Database, Sql } from "../store/database/sql.ts";
import type { SessionRow } from "../store/identity/sessions.ts";
import { lockHeld, stale } from "./complete.ts";

const MIB = 1024 * 1024;
/** One file; all files of one task; files of one task. */
export const MAX_ARTIFACT_BYTES = 64 * MIB;
export const MAX_TASK_BYTES = 256 * MIB;
const MAX_TASK_FILES = 64;
/** Bytes in one row: large enough that a file is some dozens of statements, small enough that many uploads at once fit into memory. */
export const PIECE_BYTES = 512 * 1024;

export interface Keeping {
  id: string;
  name: string;
  fence: number;
  sha256: string;
  bytes: Readable;
  /** The size that the sender has announced. */
  announced?: number | undefined;
  /** Bytes that all files of the account may have together. */
  maxAccountBytes: number;
}

/**
 * Keeps a file of a running task. It is written piece by piece while it arrives, with no transaction open, and becomes visible at once
 * and whole when its checksum fits and the worker still holds the lease.
 */
export async function keepArtifact(db: Database, s: SessionRow, k: Keeping): Promise<ArtifactRow> {
  await checkHeld(db, s, k);
  await checkRoom(db, s.account, k, k.announced ?? 0);
  const upload = newUpload();
  try {
    const { size, sha256 } = await storePieces(db, s.account, upload, k.bytes);
    if (sha256 !== k.sha256)
      throw new Problem(
        "invalid_request",
        "The bytes that arrived do not have the announced SHA-256. Send the file again.",
      );
    return await db.transaction(async (tx) => {
      // The task's row is locked, so that files of one task which end at the same moment are counted one after the other.
      await lockHeld(tx, s, k.id, k.fence);
      await checkRoom(tx, s.account, k, size);
      tx.notify(s.account, `task:${k.id}`);
      return saveArtifact(tx, s.account, { task: k.id, name: k.name, upload, size, sha256 });
    });
  } catch (error) {
    await dropUpload(db, s.account, upload).catch(() => {});
    throw error;
  }
}

async function checkHeld(sql: Sql, s: SessionRow, k: Keeping): Promise<void> {
  const rows = await sql.query(
    "select 1 from tasks where account = $1 and id = $2 and fence = $3 and lease_worker = $4 and state = 'Running' and lease_expires_at > outpost_now()",
    [s.account, k.id, k.fence, s.worker],
  );
  if (rows.length === 0) throw stale();
}

async function checkRoom(sql: Sql, account: string, k: Keeping, size: number): Promise<void> {
  if (size > MAX_ARTIFACT_BYTES) throw tooLarge(`a file of a task may have ${MAX_ARTIFACT_BYTES / MIB} MiB`);
  const { taskBytes, taskFiles, accountBytes } = await sumArtifacts(sql, account, k.id, k.name);
  if (taskBytes + size > MAX_TASK_BYTES)
    throw tooLarge(`the files of one task may have ${MAX_TASK_BYTES / MIB} MiB together`);
  if (taskFiles >= MAX_TASK_FILES) throw tooLarge(`a task may keep ${MAX_TASK_FILES} files`);
  if (accountBytes + size > k.maxAccountBytes)
    throw tooLarge(
      `the files of all tasks of the account may have ${Math.floor(k.maxAccountBytes / MIB)} MiB together (OUTPOST_ARTIFACT_MAX_MIB); those of old tasks go after OUTPOST_TASK_RETENTION`,
    );
}

async function storePieces(
  sql: Sql,
  account: string,
  upload: string,
  bytes: Readable,
): Promise<{ size: number; sha256: string }> {
  const hash = createHash("sha256");
  let size = 0;
  let n = 0;
  let waiting: Buffer[] = [];
  let held = 0;
  const write = async () => {
    await addPiece(sql, account, upload, n++, Buffer.concat(waiting));
    waiting = [];
    held = 0;
  };
  // A refusal must leave the connection open for its answer.
  for await (const chunk of bytes.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_ARTIFACT_BYTES) throw tooLarge(`a file of a task may have ${MAX_ARTIFACT_BYTES / MIB} MiB`);
    hash.update(chunk);
    waiting.push(chunk);
    held += chunk.length;
    if (held >= PIECE_BYTES) await write();
  }
  if (held > 0) await write();
  return { size, sha256: hash.digest("hex") };
}

const tooLarge = (what: string) =>
  new Problem("body_too_large", `Too much: ${what}. Keep less, or upload it to a repository of artefacts.`, {
    headers: { Connection: "close" },
  });
