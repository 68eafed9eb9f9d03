import { objectOf } from "../../../schema/type.ts";
import { objectIn } from "../../convert.ts";
import type { Handler } from "../rpc.ts";

/** Keeps the configuration; parts may be unknown in a plan. The client is made when a handler first asks for it. */
export const ConfigureProvider: Handler<"ConfigureProvider"> = (session, request) => {
  session.configure(
    objectIn(objectOf(session.provider.schema.attributes), request.config),
    request.terraform_version ?? "",
  );
  return {};
};
