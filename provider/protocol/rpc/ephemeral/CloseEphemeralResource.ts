import type { Handler } from "../rpc.ts";
import { leaseIn } from "./OpenEphemeralResource.ts";

export const CloseEphemeralResource: Handler<"CloseEphemeralResource"> = async (session, request, diagnostics) => {
  const part = await session.ephemeral(request.type_name);
  await part.close?.(leaseIn(request.private), session.context(diagnostics));
  return {};
};
