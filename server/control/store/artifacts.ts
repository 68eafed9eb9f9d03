import { randomBytes } from "node:crypto";
import type { Row, Sql } from "./database/sql.ts";

/** A file that a task has left, without its bytes. */
export interface ArtifactRow {
  task: string;
  name: string;
  upload: string;
  size: number;
  sha256: string;
  createdAt: Date;
}

const toArtifact = (r: Row): ArtifactRow => ({
  task: r.task,
  name: r.name,
  upload: r.upload,
  size: Number(r.size),
  sha256: r.sha256,
  createdAt: r.created_at,
});

export const newUpload = (): string => randomBytes(12).toString("hex");

/** One piece of a file; it is not visible before the file is whole. */
export async function addPiece(sql: Sql, account: string, upload: string, n: number, data: Uint8Array): Promise<void> {
  await sql.query("insert into artifact_pieces (account, upload, n, at, data) values ($1, $2, $3, outpost_now(), $4)", [
    account,
    upload,
    n,
    data,
  ]);
}

export async function tryReadPiece(
  sql: Sql,
  account: string,
  upload: string,
  n: number,
): Promise<Uint8Array | undefined> {
  return (
    await sql.query("select data from artifact_pieces where account = $1 and upload = $2 and n = $3", [
      account,
      upload,
      n,
    ])
  )[0]?.data;
}

export async function dropUpload(sql: Sql, account: string, upload: string): Promise<void> {
  await sql.query("delete from artifact_pieces where account = $1 and upload = $2", [account, upload]);
}

/** Makes a whole upload the task's file of that name, in place of the one before. */
export async function saveArtifact(sql: Sql, account: string, a: Omit<ArtifactRow, "createdAt">): Promise<ArtifactRow> {
  await sql.query(
    "delete from artifact_pieces where account = $1 and upload in (select upload from task_artifacts where account = $1 and task = $2 and name = $3)",
    [account, a.task, a.name],
  );
  const rows = await sql.query(
    `insert into task_artifacts (account, task, name, upload, size, sha256, created_at) values ($1, $2, $3, $4, $5, $6, outpost_now())
     on conflict (account, task, name) do update set upload = excluded.upload, size = excluded.size, sha256 = excluded.sha256, created_at = excluded.created_at
     returning *`,
    [account, a.task, a.name, a.upload, a.size, a.sha256],
  );
  return toArtifact(rows[0]!);
}

export async function tryFindArtifact(
  sql: Sql,
  account: string,
  task: string,
  name: string,
): Promise<ArtifactRow | undefined> {
  const rows = await sql.query("select * from task_artifacts where account = $1 and task = $2 and name = $3", [
    account,
    task,
    name,
  ]);
  return rows[0] && toArtifact(rows[0]);
}

/** The files of some tasks, by task. */
export async function artifactsOf(
  sql: Sql,
  account: string,
  tasks: readonly string[],
): Promise<Map<string, ArtifactRow[]>> {
  const found = new Map<string, ArtifactRow[]>();
  if (tasks.length === 0) return found;
  const rows = await sql.query(
    "select * from task_artifacts where account = $1 and task = any($2::text[]) order by task, name",
    [account, [...tasks]],
  );
  for (const row of rows) found.set(row.task, [...(found.get(row.task) ?? []), toArtifact(row)]);
  return found;
}

/** Bytes and files of a task without the file of that name, and the bytes of the whole account. */
export async function sumArtifacts(
  sql: Sql,
  account: string,
  task: string,
  except: string,
): Promise<{ taskBytes: number; taskFiles: number; accountBytes: number }> {
  const [row] = await sql.query(
    `select coalesce(sum(size) filter (where task = $2 and name <> $3), 0)::bigint task_bytes, count(*) filter (where task = $2 and name <> $3)::int task_files,
       coalesce(sum(size) filter (where task <> $2 or name <> $3), 0)::bigint account_bytes from task_artifacts where account = $1`,
    [account, task, except],
  );
  return { taskBytes: Number(row!.task_bytes), taskFiles: row!.task_files, accountBytes: Number(row!.account_bytes) };
}

/** Forgets the files of tasks that are gone, and uploads that were never finished. */
export async function trimArtifacts(sql: Sql): Promise<void> {
  await sql.query(
    "delete from task_artifacts a where not exists (select 1 from tasks t where t.account = a.account and t.id = a.task)",
  );
  await sql.query(
    `delete from artifact_pieces p where at < outpost_now() - interval '1 hour'
       and not exists (select 1 from task_artifacts a where a.account = p.account and a.upload = p.upload)`,
  );
}
