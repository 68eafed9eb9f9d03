import { objectOf } from "../../../schema/type.ts";
import { validate } from "../../../schema/validate.ts";
import { objectIn } from "../../convert.ts";
import type { Handler } from "../rpc.ts";

export const ValidateProviderConfig: Handler<"ValidateProviderConfig"> = ({ provider }, request, diagnostics) => {
  const config = objectIn(objectOf(provider.schema.attributes), request.config);
  validate(provider.schema, config, diagnostics, { writeOnly: true });
  provider.validate?.(config, diagnostics);
  return {};
};
