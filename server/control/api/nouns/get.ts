import type { Collection, ObjectOf } from "../../domain/nouns.ts";
import { etag, notModified } from "../http/preconditions.ts";
import type { Services } from "../services.ts";
import type { Call } from "../typed.ts";
import { checkLevel, findObject, show } from "./find.ts";
import { withLiveStatus } from "./live.ts";

type GetCall = Pick<Call<"getAgent">, "params" | "headers" | "scope">;
type GetReply<C extends Collection> =
  | { status: 200; body: ObjectOf<C>; headers: Record<string, string> }
  | { status: 304; headers: Record<string, string> };

/** GET of one object of a collection. */
export const getObject =
  <C extends Collection>(s: Services, collection: C) =>
  async (call: GetCall): Promise<GetReply<C>> => {
    checkLevel(collection, call.scope);
    const found = await findObject(s.db, collection, call.scope, call.params.id);
    const headers = { ETag: etag(found) };
    if (notModified(call.headers.ifNoneMatch, found)) return { status: 304, headers };
    const [live] = await withLiveStatus(s.db, collection, [found]);
    return { status: 200, body: show<C>(live!), headers };
  };
