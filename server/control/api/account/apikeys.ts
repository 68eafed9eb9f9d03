import { hashCredential, makeApiKey } from "../../access/apikey.ts";
import { lineageBelow } from "../../access/authenticate.ts";
import type { Schemas } from "../../domain/nouns.ts";
import { notFound, Problem } from "../../domain/problem.ts";
import { type ApiKeyRow, countAccountAdmins, deleteKey, insertKey, listKeys } from "../../store/identity/keys.ts";
import { checkScopeExists } from "../nouns/find.ts";
import type { Services } from "../services.ts";
import type { Handler } from "../typed.ts";
import { write } from "../write.ts";
import { checkEnd, lifetimeOf } from "./lifetime.ts";

// A forgotten key expires by itself.
const DEFAULT_SECONDS = 90 * 24 * 3_600;

function view(k: ApiKeyRow): Schemas["ApiKey"] {
  return {
    id: k.id,
    ...(k.org ? { org: k.org } : {}),
    ...(k.project ? { project: k.project } : {}),
    role: k.role,
    createdAt: k.createdAt.toISOString(),
    ...(k.lineage ? { lineage: k.lineage } : {}),
    ...(k.expiresAt ? { expiresAt: k.expiresAt.toISOString() } : {}),
  };
}

export const createApiKey =
  (s: Services): Handler<"createApiKey"> =>
  async (call) => {
    const { id, role, expiresIn } = call.body;
    const text = makeApiKey(call.scope.account);
    return write(s, call, async (w) => {
      await checkScopeExists(w, call.scope);
      const row = await insertKey(w, {
        ...call.scope,
        id,
        role,
        hash: hashCredential(text.reveal()),
        lineage: lineageBelow(call.caller),
        ...lifetimeOf(call.caller, expiresIn, DEFAULT_SECONDS),
      });
      if (!row)
        throw new Problem(
          "already_exists",
          "There is a key with this id in this scope. Choose another id, or delete that key.",
          {
            pointer: "/id",
          },
        );
      checkEnd("A key", row, call.caller);
      return {
        status: 201 as const,
        body: { ...view(row), key: text.reveal() },
        headers: { "Cache-Control": "no-store" },
      };
    });
  };

export const listApiKeys =
  (s: Services): Handler<"listApiKeys"> =>
  async (call) => {
    await checkScopeExists(s.db, call.scope);
    return { status: 200, body: { items: (await listKeys(s.db, call.scope)).map(view) } };
  };

export const deleteApiKey =
  (s: Services): Handler<"deleteApiKey"> =>
  async (call) =>
    write(s, call, async (w) => {
      const gone = await deleteKey(w, call.scope, call.params.id);
      if (!gone) throw notFound();
      checkSomebodyIsLeft(gone, await countAccountAdmins(w, w.account));
      w.notify(w.account, "keys");
      return { status: 204 as const };
    });

/** Keys that end make none that outlive them: with the last one that has no end, the account would lose its administrators one by one. */
function checkSomebodyIsLeft(gone: ApiKeyRow, left: { valid: number; lasting: number }): void {
  const wasLasting = gone.role === "admin" && gone.org === "" && gone.expiresAt === undefined;
  if (left.valid > 0 && (left.lasting > 0 || !wasLasting)) return;
  throw new Problem(
    "conflict",
    "This is the last admin key of the account that does not expire. To replace it, start the service with a new OUTPOST_ADMIN_KEY.",
  );
}
