import type { Handler } from "../rpc.ts";
import { leaseIn, leaseOf } from "./OpenEphemeralResource.ts";

export const RenewEphemeralResource: Handler<"RenewEphemeralResource"> = async (session, request, diagnostics) => {
  const part = await session.ephemeral(request.type_name);
  const lease = leaseIn(request.private);
  const renewed = part.renew ? await part.renew(lease, session.context(diagnostics)) : null;
  return diagnostics.failed ? {} : leaseOf(renewed?.private ?? lease, renewed?.renewAt);
};
