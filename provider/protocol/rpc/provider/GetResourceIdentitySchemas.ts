import type { Handler } from "../rpc.ts";

/** No identities: import is by id. Answering at all tells newer cores that the question is understood. */
export const GetResourceIdentitySchemas: Handler<"GetResourceIdentitySchemas"> = () => ({});
