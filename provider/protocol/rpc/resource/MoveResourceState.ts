import type { Handler } from "../rpc.ts";

export const MoveResourceState: Handler<"MoveResourceState"> = (_session, request, diagnostics) => {
  diagnostics.error(
    "Moving is not supported",
    `A ${request.source_type_name} of ${request.source_provider_address} cannot become a ${request.target_type_name}. Remove it from the state and import it instead.`,
  );
  return {};
};
