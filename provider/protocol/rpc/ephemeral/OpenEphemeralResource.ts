import { Diagnostics } from "../../../schema/diagnostics.ts";
import { guardState } from "../../../schema/guard.ts";
import { objectOf } from "../../../schema/type.ts";
import type { Json } from "../../../value/json.ts";
import { messageOf, objectIn } from "../../convert.ts";
import type { Message } from "../../messages.ts";
import type { Handler } from "../rpc.ts";

export const OpenEphemeralResource: Handler<"OpenEphemeralResource"> = async (session, request, diagnostics) => {
  const part = await session.ephemeral(request.type_name);
  const type = objectOf(part.schema.attributes);
  const opened = await part.open(objectIn(type, request.config), session.context(diagnostics));
  if (!opened || diagnostics.failed) return {};
  guardState(request.type_name!, part.schema, opened.result, diagnostics);
  if (diagnostics.failed) return {};
  const lease = opened.private;
  if (part.close && lease !== undefined)
    session.opened(JSON.stringify(lease), (signal) =>
      part.close!(lease, { ...session.context(new Diagnostics()), signal }),
    );
  return { result: messageOf(type, opened.result), ...leaseOf(opened.private, opened.renewAt) };
};

/** The lease as the protocol carries it. */
export function leaseOf(
  lease: Json | undefined,
  renewAt: Date | undefined,
): { private?: Buffer; renew_at?: Message<"Timestamp"> } {
  const milliseconds = renewAt?.getTime();
  return {
    ...(lease === undefined ? {} : { private: Buffer.from(JSON.stringify(lease)) }),
    ...(milliseconds === undefined
      ? {}
      : { renew_at: { seconds: Math.floor(milliseconds / 1000), nanos: (milliseconds % 1000) * 1_000_000 } }),
  };
}

/** The lease that came back. */
export const leaseIn = (bytes: Buffer | undefined): Json =>
  bytes && bytes.length > 0 ? JSON.parse(bytes.toString("utf8")) : null;
