import { objectOf } from "../../../schema/type.ts";
import { objectIn } from "../../convert.ts";
import type { Handler } from "../rpc.ts";

/** Keeps the configuration, of which parts may be unknown in a plan, and lets the provider look at it: what is wrong here is told once, and not at each resource. */
export const ConfigureProvider: Handler<"ConfigureProvider"> = async (session, request, diagnostics) => {
  session.configure(
    objectIn(objectOf(session.provider.schema.attributes), request.config),
    request.terraform_version ?? "",
  );
  await session.provider.check?.(session.context(diagnostics));
  return {};
};
