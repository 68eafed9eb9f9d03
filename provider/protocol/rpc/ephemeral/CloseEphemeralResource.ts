import type { Handler } from "../rpc.ts";
import { leaseIn } from "./OpenEphemeralResource.ts";

export const CloseEphemeralResource: Handler<"CloseEphemeralResource"> = async (session, request, diagnostics) => {
  const part = await session.ephemeral(request.type_name);
  const lease = leaseIn(request.private);
  await part.close?.(lease, session.context(diagnostics));
  session.closed(JSON.stringify(lease));
  return {};
};
