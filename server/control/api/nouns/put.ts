import type { Collection, ObjectOf } from "../../domain/nouns.ts";
import { tryFindObject } from "../../store/objects.ts";
import { checkIfMatch, checkIfNoneMatch, etag } from "../preconditions.ts";
import type { Services } from "../services.ts";
import type { Call } from "../typed.ts";
import { write } from "../write.ts";
import { checkApprovalsKept } from "./approvals-kept.ts";
import { checkLevel, checkScopeExists, show } from "./find.ts";
import { save } from "./save.ts";

type PutCall = Omit<Call<"putAgent">, "body" | "operation"> & { operation: string; body: { spec: Record<string, any> } };
type PutReply<C extends Collection> = { status: 200 | 201; body: ObjectOf<C>; headers: Record<string, string> };

/** PUT: creates the object or replaces its spec. The same PUT again changes nothing. */
export const put =
  <C extends Collection>(s: Services, collection: C) =>
  async (call: PutCall): Promise<PutReply<C>> => {
    checkLevel(collection, call.scope);
    return write(s, call, async (w) => {
      await checkScopeExists(w, call.scope);
      const existing = await tryFindObject(w, collection, call.scope, call.params.id);
      checkIfNoneMatch(call.headers.ifNoneMatch, existing);
      checkIfMatch(call.headers.ifMatch, existing);
      const saved = await save(w, collection, call.scope, call.params.id, existing, call.body.spec);
      checkApprovalsKept(call.caller, existing, saved);
      return { status: existing ? 200 : 201, body: show<C>(saved), headers: { ETag: etag(saved) } };
    });
  };
