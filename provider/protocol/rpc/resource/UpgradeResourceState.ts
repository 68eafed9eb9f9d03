import { reason } from "../../../schema/diagnostics.ts";
import { storable } from "../../../schema/plan.ts";
import { objectOf } from "../../../schema/type.ts";
import { fromJson, type Json, parseJson } from "../../../value/json.ts";
import { messageOf } from "../../convert.ts";
import type { Handler } from "../rpc.ts";

/** Called for every resource of every plan, mostly at the same version: then new attributes become null and unknown ones are dropped. */
export const UpgradeResourceState: Handler<"UpgradeResourceState"> = async (session, request, diagnostics) => {
  const { schema, upgrade = {} } = await session.resource(request.type_name);
  const { version = 0 } = schema;
  const type = objectOf(schema.attributes);
  let at = request.version ?? 0;
  if (at > version) {
    diagnostics.error(
      "State is of a newer provider",
      `The state of this ${request.type_name} was written by a newer version of the provider (schema ${at}, this one knows ${version}). Use that version or a newer one.`,
    );
    return {};
  }
  let state = parseJson(request.raw_state?.json?.toString("utf8") || "null") as { [name: string]: Json };
  for (; at < version; at++) {
    const step = upgrade[at];
    if (!step) throw new Error(`there is no way from schema ${at} to ${at + 1}`);
    state = step(state);
  }
  try {
    return { upgraded_state: messageOf(type, storable(schema.attributes, fromJson(type, state))) };
  } catch (error) {
    diagnostics.error(
      "The state cannot be read",
      `What the state says of this ${request.type_name} does not fit its schema: ${reason(error)}. Was it edited by hand? Restore a backup of the state, or take the resource out of it (\`terraform state rm\`) and import it again.`,
    );
    return {};
  }
};
