import type { Diagnostics } from "../../schema/diagnostics.ts";
import type { Message, MessageName } from "../messages.ts";
import type { Session } from "../session.ts";

type RequestOf<N extends string> = `${N}.Request` extends MessageName ? Message<`${N}.Request`> : never;
type ResponseOf<N extends string> = `${N}.Response` extends MessageName ? Message<`${N}.Response`> : never;

/** One RPC: values in, values out. What it adds to `diagnostics` is put into the answer by the dispatcher. */
export type Handler<N extends string> = (
  session: Session,
  request: RequestOf<N>,
  diagnostics: Diagnostics,
) => Promise<ResponseOf<N>> | ResponseOf<N>;
