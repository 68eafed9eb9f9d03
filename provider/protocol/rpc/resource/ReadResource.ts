import { guardState } from "../../../schema/guard.ts";
import { storable } from "../../../schema/plan.ts";
import { objectOf } from "../../../schema/type.ts";
import { messageOf, objectIn, privateBytes, privateOf } from "../../convert.ts";
import type { Handler } from "../rpc.ts";

/** An object that is gone is a null state, never an error. After an error the state stays as it was. */
export const ReadResource: Handler<"ReadResource"> = async (session, request, diagnostics) => {
  const resource = await session.resource(request.type_name);
  const { attributes } = resource.schema;
  const type = objectOf(attributes);
  const current = objectIn(type, request.current_state);
  const kept = privateOf(request.private);
  const read = await resource.read(current, { ...session.context(diagnostics), private: kept });
  if (diagnostics.failed) return { new_state: messageOf(type, current), private: request.private };
  if (read === null) return {};
  const state = storable(attributes, read);
  guardState(request.type_name!, resource.schema, state, diagnostics);
  return { new_state: messageOf(type, state), private: privateBytes(kept) };
};
