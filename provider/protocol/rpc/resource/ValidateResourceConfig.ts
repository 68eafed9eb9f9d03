import { objectOf } from "../../../schema/type.ts";
import { validate } from "../../../schema/validate.ts";
import { objectIn } from "../../convert.ts";
import type { Handler } from "../rpc.ts";

export const ValidateResourceConfig: Handler<"ValidateResourceConfig"> = async (session, request, diagnostics) => {
  const part = await session.resource(request.type_name);
  const config = objectIn(objectOf(part.schema.attributes), request.config);
  validate(part.schema, config, diagnostics, {
    writeOnly: request.client_capabilities?.write_only_attributes_allowed === true,
  });
  await part.validate?.(config, diagnostics);
  return {};
};
