import { guardState } from "../../../schema/guard.ts";
import { objectOf } from "../../../schema/type.ts";
import { messageOf, objectIn } from "../../convert.ts";
import type { Handler } from "../rpc.ts";

export const ReadDataSource: Handler<"ReadDataSource"> = async (session, request, diagnostics) => {
  const source = await session.dataSource(request.type_name);
  const type = objectOf(source.schema.attributes);
  const state = await source.read(objectIn(type, request.config), session.context(diagnostics));
  if (diagnostics.failed) return {};
  if (state === null) diagnostics.error("Not found", `${request.type_name} found nothing.`);
  else guardState(request.type_name!, source.schema, state, diagnostics);
  return diagnostics.failed ? {} : { state: messageOf(type, state) };
};
