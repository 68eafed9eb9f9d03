import type { Access } from "../../../openapi/contract/operations.ts";
import { contains, type Scope } from "../domain/scope.ts";
import type { Role } from "../store/identity/keys.ts";

const RANK: Record<Role, number> = { viewer: 1, editor: 2, admin: 3 };

/** Who asks: a person or service account with a key, a worker with a session, or a running task with its token. */
export type Actor = { kind: "key"; role: Role; bound: Scope } | { kind: "worker" } | { kind: "task"; bound: Scope };

/** The part of an operation's row that decides: who may call it, and whether a running task may, too. */
export interface Rule {
  access: Access;
  task?: boolean;
}

/** A task does in its scope what an editor may, as far as its operations are marked for it. */
const TASK_ROLE: Role = "editor";

/**
 *   allowed          continue
 *   unauthenticated  this kind of credential does not open this operation
 *   hidden           the scope is not within the key's: answered exactly as if there were nothing
 *   forbidden        the scope is visible, the role is too small
 */
export type Decision = "allowed" | "unauthenticated" | "hidden" | "forbidden";

/** The one place where access is decided, from the operation's row in the contract. Rights flow downwards from the key's scope. */
export function decide({ access, task = false }: Rule, actor: Actor | undefined, scope: Scope): Decision {
  if (access === "public") return "allowed";
  if (!actor) return "unauthenticated";
  if (access === "worker") return actor.kind === "worker" ? "allowed" : "unauthenticated";
  if (actor.kind === "task") {
    if (!task || access === "any") return "unauthenticated";
    // Exactly its scope: scopes below belong to others.
    if (actor.bound.account !== scope.account || actor.bound.org !== scope.org || actor.bound.project !== scope.project)
      return "hidden";
    return RANK[TASK_ROLE] >= RANK[access] ? "allowed" : "forbidden";
  }
  if (actor.kind !== "key") return "unauthenticated";
  if (access === "any") return "allowed";
  if (!contains(actor.bound, scope)) return "hidden";
  return RANK[actor.role] >= RANK[access] ? "allowed" : "forbidden";
}
