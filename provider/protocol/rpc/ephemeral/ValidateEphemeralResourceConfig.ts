import { objectOf } from "../../../schema/type.ts";
import { validate } from "../../../schema/validate.ts";
import { objectIn } from "../../convert.ts";
import type { Handler } from "../rpc.ts";

export const ValidateEphemeralResourceConfig: Handler<"ValidateEphemeralResourceConfig"> = async (
  session,
  request,
  diagnostics,
) => {
  const part = await session.ephemeral(request.type_name);
  const config = objectIn(objectOf(part.schema.attributes), request.config);
  validate(part.schema, config, diagnostics, { writeOnly: true });
  part.validate?.(config, diagnostics);
  return {};
};
