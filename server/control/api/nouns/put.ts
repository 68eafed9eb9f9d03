import type { Collection, ObjectOf } from "../../domain/nouns.ts";
import { isReleased } from "../../store/objects/moves.ts";
import { tryFindObject } from "../../store/objects/objects.ts";
import { foundForPut } from "../discovered/adopt.ts";
import { checkIfMatch, checkIfNoneMatch, etag } from "../http/preconditions.ts";
import type { Services } from "../services.ts";
import type { Call } from "../typed.ts";
import { write } from "../write.ts";
import { checkApprovalsKept } from "./approvals-kept.ts";
import { checkLevel, checkScopeExists, show } from "./find.ts";
import { tryFindAgent } from "./references.ts";
import { save } from "./save.ts";

type PutCall = Omit<Call<"putAgent">, "body" | "operation" | "query"> & {
  operation: string;
  body: { spec: Record<string, any> };
  query: { org?: string; move?: boolean; adopt?: boolean };
};
type PutReply<C extends Collection> = { status: 200 | 201; body: ObjectOf<C>; headers: Record<string, string> };

/** PUT: creates the object or replaces its spec. The same PUT again changes nothing. */
export const put =
  <C extends Collection>(s: Services, collection: C) =>
  async (call: PutCall): Promise<PutReply<C>> => {
    checkLevel(collection, call.scope);
    return write(s, call, async (w) => {
      await checkScopeExists(w, call.scope);
      const adopt = call.query.adopt === true;
      const creation = call.headers.ifNoneMatch?.trim() === "*";
      const agent = await tryFindAgent(w, call.scope, call.body.spec);
      const found = await tryFindObject(w, collection, call.scope, call.params.id);
      const existing = await foundForPut(w, found, { scope: call.scope, agent, creation, adopt });
      checkIfMatch(call.headers.ifMatch, existing);
      // A creation takes the place of an object that was released for it.
      const released = creation && existing !== undefined && (await isReleased(w, w.account, existing.uid));
      if (!released) checkIfNoneMatch(call.headers.ifNoneMatch, existing);
      const kept = call.query.move ? "move" : "update";
      const change = released ? "replace" : kept;
      const saved = await save(
        w,
        { collection, scope: call.scope, id: call.params.id, existing, change, adopt },
        call.body.spec,
      );
      checkApprovalsKept(call.caller, existing, saved);
      return { status: existing && !released ? 200 : 201, body: show<C>(saved), headers: { ETag: etag(saved) } };
    });
  };
