import { guardState } from "../../../schema/guard.ts";
import { storable } from "../../../schema/plan.ts";
import { objectOf } from "../../../schema/type.ts";
import { messageOf, privateBytes } from "../../convert.ts";
import type { PrivateState } from "../../provider.ts";
import type { Handler } from "../rpc.ts";

/** Core reads the object afterwards. An empty answer would import nothing and say nothing, so it is an error here. */
export const ImportResourceState: Handler<"ImportResourceState"> = async (session, request, diagnostics) => {
  const { type_name = "", id = "" } = request;
  const resource = await session.resource(type_name);
  if (!resource.import) {
    diagnostics.error("Import is not supported", `${type_name} cannot be imported.`);
    return {};
  }
  const kept: PrivateState = new Map();
  const found = await resource.import(id, { ...session.context(diagnostics), private: kept });
  if (diagnostics.failed) return {};
  if (found === null) {
    diagnostics.error("Nothing to import", `There is no ${type_name} with the id ${JSON.stringify(id)}.`);
    return {};
  }
  const state = storable(resource.schema.attributes, found);
  guardState(type_name, resource.schema, state, diagnostics);
  return {
    imported_resources: [
      { type_name, state: messageOf(objectOf(resource.schema.attributes), state), private: privateBytes(kept) },
    ],
  };
};
