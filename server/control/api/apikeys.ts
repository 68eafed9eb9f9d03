import { hashCredential, makeApiKey } from "../access/apikey.ts";
import { lineageBelow } from "../access/authenticate.ts";
import type { Schemas } from "../domain/nouns.ts";
import { notFound, Problem } from "../domain/problem.ts";
import { type ApiKeyRow, countAccountAdmins, deleteKey, insertKey, listKeys } from "../store/keys.ts";
import { seconds } from "./agents/tokens.ts";
import { checkScopeExists } from "./nouns/find.ts";
import type { Services } from "./services.ts";
import type { Handler } from "./typed.ts";
import { write } from "./write.ts";

// A forgotten key ends by itself.
const DEFAULT_LIFETIME = "90d";

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
        expiresInSeconds: seconds(expiresIn ?? DEFAULT_LIFETIME),
      });
      if (!row)
        throw new Problem("already_exists", "There is a key with this id in this scope. Choose another id, or delete that key.", {
          pointer: "/id",
        });
      return { status: 201 as const, body: { ...view(row), key: text.reveal() }, headers: { "Cache-Control": "no-store" } };
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
      // Nobody could ever make a key again.
      if ((await countAccountAdmins(w, w.account)) === 0)
        throw new Problem("conflict", "This is the last admin key of the account. Create another one first.");
      w.notify(w.account, "keys");
      return { status: 204 as const };
    });
