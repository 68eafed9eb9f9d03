import type { Scope } from "../domain/scope.ts";
import { type ApiKeyRow, tryFindKeyByHash } from "../store/keys.ts";
import { type SessionRow, tryFindSession } from "../store/sessions.ts";
import type { Sql } from "../store/sql.ts";
import { parseCredential } from "./apikey.ts";
import type { Actor } from "./decide.ts";

/** A credential that was found to be valid. `hash` allows asking again while a stream is open. */
export type Caller = { account: string; hash: string } & ({ kind: "key"; key: ApiKeyRow } | { kind: "worker"; session: SessionRow });

/** The caller behind a header; undefined when there is none. There is no cache: a revoked key is dead at the next request. */
export async function authenticate(sql: Sql, header: string | undefined): Promise<Caller | undefined> {
  const credential = parseCredential(header);
  if (!credential) return undefined;
  const { account, hash } = credential;
  if (credential.kind === "key") {
    const key = await tryFindKeyByHash(sql, account, hash);
    return key && { kind: "key", account, hash, key };
  }
  const session = await tryFindSession(sql, account, hash);
  return session && { kind: "worker", account, hash, session };
}

export async function stillValid(sql: Sql, caller: Caller): Promise<boolean> {
  const find = caller.kind === "key" ? tryFindKeyByHash : tryFindSession;
  return (await find(sql, caller.account, caller.hash)) !== undefined;
}

export function actorOf(caller: Caller | undefined): Actor | undefined {
  if (!caller) return undefined;
  return caller.kind === "key" ? { kind: "key", role: caller.key.role, bound: scopeOf(caller.key) } : { kind: "worker" };
}

/** Name of a caller in the audit trail. */
export function nameOf(caller: Caller | undefined): string {
  if (!caller) return "anonymous";
  if (caller.kind === "worker") return `${caller.session.kind}:${placed(caller.session, caller.session.id)}`;
  return `key:${placed(caller.key, caller.key.id)}`;
}

const placed = (scope: Scope, id: string) => [scope.org, scope.project, id].filter(Boolean).join("/");
const scopeOf = ({ account, org, project }: Scope): Scope => ({ account, org, project });
