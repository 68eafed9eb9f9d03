import type { Scope } from "../domain/scope.ts";
import type { Sql } from "../store/database/sql.ts";
import { type ApiKeyRow, OPERATOR, tryFindKeyByHash } from "../store/identity/keys.ts";
import { type SessionRow, tryFindSession } from "../store/identity/sessions.ts";
import { parseCredential } from "./apikey.ts";
import type { Actor } from "./decide.ts";
import type { Signer } from "./signer.ts";

/** A task that speaks with its own token: its scope, and the lease that it speaks under. */
export interface TaskCaller extends Scope {
  task: string;
  fence: number;
}

/** A credential that was found to be valid. `hash` allows asking again while a stream is open. */
export type Caller =
  | { kind: "key"; account: string; hash: string; key: ApiKeyRow }
  | { kind: "worker"; account: string; hash: string; session: SessionRow }
  | { kind: "task"; account: string; task: TaskCaller };

/** The caller behind a header; undefined when there is none. There is no cache: a revoked key is dead at the next request. */
export async function authenticate(
  sql: Sql,
  signer: Pick<Signer, "fitsTaskToken">,
  header: string | undefined,
): Promise<Caller | undefined> {
  const credential = parseCredential(header);
  if (!credential) return undefined;
  if (credential.kind === "task") {
    // The store is asked only for tokens that the service has made.
    const task = signer.fitsTaskToken(credential, credential.mac) ? await tryFindLease(sql, credential) : undefined;
    return task && { kind: "task", account: credential.account, task };
  }
  const { account, hash } = credential;
  if (credential.kind === "key") {
    const key = await tryFindKeyByHash(sql, account, hash);
    return key && { kind: "key", account, hash, key };
  }
  const session = await tryFindSession(sql, account, hash);
  return session && { kind: "worker", account, hash, session };
}

/** The task while the lease runs: a token is dead as soon as its lease ended, was lost, or was not renewed in time. */
async function tryFindLease(
  sql: Sql,
  { account, task, fence }: Omit<TaskCaller, "org" | "project">,
): Promise<TaskCaller | undefined> {
  const [row] = await sql.query(
    "select org, project from tasks where account = $1 and id = $2 and fence = $3 and state = 'Running' and lease_expires_at > outpost_now()",
    [account, task, fence],
  );
  return row && { account, org: row.org, project: row.project, task, fence };
}

export async function stillValid(sql: Sql, caller: Caller): Promise<boolean> {
  if (caller.kind === "task") return (await tryFindLease(sql, caller.task)) !== undefined;
  const find = caller.kind === "key" ? tryFindKeyByHash : tryFindSession;
  return (await find(sql, caller.account, caller.hash)) !== undefined;
}

export function actorOf(caller: Caller | undefined): Actor | undefined {
  if (!caller) return undefined;
  if (caller.kind === "task") return { kind: "task", bound: scopeOf(caller.task) };
  return caller.kind === "key"
    ? { kind: "key", role: caller.key.role, bound: scopeOf(caller.key) }
    : { kind: "worker" };
}

/** Name of a caller in the audit trail. */
export function nameOf(caller: Caller | undefined): string {
  if (!caller) return "anonymous";
  if (caller.kind === "task") return `task:${caller.task.task}`;
  if (caller.kind === "worker") return `${caller.session.kind}:${placed(caller.session, caller.session.id)}`;
  return `key:${placed(caller.key, caller.key.id)}`;
}

/** Keys of one lineage count as one person: the maker of a key can use it. */
export function lineageOf(caller: Caller | undefined): string {
  return (caller?.kind === "key" ? caller.key.lineage : undefined) ?? nameOf(caller);
}

/** The lineage of a key that this caller makes. The account's first key belongs to the operator, who makes keys for people. */
export function lineageBelow(caller: Caller | undefined): string | undefined {
  const lineage = lineageOf(caller);
  return lineage === OPERATOR ? undefined : lineage;
}

const placed = (scope: Scope, id: string) => [scope.org, scope.project, id].filter(Boolean).join("/");
const scopeOf = ({ account, org, project }: Scope): Scope => ({ account, org, project });
