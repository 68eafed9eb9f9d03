import { mergePatch } from "../../../base/json/merge-patch.ts";
import type { Collection, ObjectOf } from "../../domain/nouns.ts";
import { Problem } from "../../domain/problem.ts";
import { checkChange } from "../discovered/adopt.ts";
import { checkIfMatch, etag } from "../http/preconditions.ts";
import type { Services } from "../services.ts";
import type { Call } from "../typed.ts";
import { write } from "../write.ts";
import { checkApprovalsKept } from "./approvals-kept.ts";
import { checkLevel, findObject, show } from "./find.ts";
import { save } from "./save.ts";

type PatchCall = Omit<Call<"patchAgent">, "body" | "operation" | "query"> & {
  operation: string;
  body: { spec: Record<string, any> };
  query: { org?: string; move?: boolean; adopt?: boolean };
};
type PatchReply<C extends Collection> = { status: 200; body: ObjectOf<C>; headers: Record<string, string> };

/** PATCH: a JSON merge patch of the object. */
export const patch =
  <C extends Collection>(s: Services, collection: C) =>
  async (call: PatchCall): Promise<PatchReply<C>> => {
    checkLevel(collection, call.scope);
    return write(s, call, async (w) => {
      const existing = await findObject(w, collection, call.scope, call.params.id);
      checkIfMatch(call.headers.ifMatch, existing);
      await checkChange(w, existing, call.query.adopt === true);
      const spec = mergePatch(existing.spec, call.body.spec);
      if (spec === null || typeof spec !== "object" || Array.isArray(spec))
        throw new Problem("invalid_request", "`spec` must be an object.", { pointer: "/spec" });
      const saved = await save(
        w,
        {
          collection,
          scope: call.scope,
          id: call.params.id,
          existing,
          change: call.query.move ? "move" : "update",
          adopt: call.query.adopt === true,
        },
        spec as Record<string, any>,
      );
      checkApprovalsKept(call.caller, existing, saved);
      return { status: 200, body: show<C>(saved), headers: { ETag: etag(saved) } };
    });
  };
