import type { Access } from "../../../openapi/contract/operations.ts";
import { contains, type Scope } from "../domain/scope.ts";
import type { Role } from "../store/keys.ts";

const RANK: Record<Role, number> = { viewer: 1, editor: 2, admin: 3 };

/** Who asks: a person or service account with a key, or a worker with a session. */
export type Actor = { kind: "key"; role: Role; bound: Scope } | { kind: "worker" };

/**
 *   allowed          go on
 *   unauthenticated  this kind of credential does not open this operation
 *   hidden           the scope is not within the key's: answered exactly as if there were nothing
 *   forbidden        the scope is visible, the role is too small
 */
export type Decision = "allowed" | "unauthenticated" | "hidden" | "forbidden";

/** The one place where access is decided, from the operation's row in the contract. Rights flow downwards from the key's scope. */
export function decide(access: Access, actor: Actor | undefined, scope: Scope): Decision {
  if (access === "public") return "allowed";
  if (!actor) return "unauthenticated";
  if (access === "worker") return actor.kind === "worker" ? "allowed" : "unauthenticated";
  if (actor.kind !== "key") return "unauthenticated";
  if (access === "any") return "allowed";
  if (!contains(actor.bound, scope)) return "hidden";
  return RANK[actor.role] >= RANK[access] ? "allowed" : "forbidden";
}
