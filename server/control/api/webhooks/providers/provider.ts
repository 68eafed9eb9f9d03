import type { Secret } from "../../../../base/secret.ts";
import type { Reading, Told } from "../notice.ts";
import type { Incoming } from "../signature.ts";

/** How a host signs its calls, and what is in them. */
export interface Provider {
  /** Whether who calls knows the secret. It sees bytes and header fields; nothing has been parsed. */
  signed(call: Incoming, secret: Secret): boolean;
  read(told: Told): Reading;
  /** The name to enter beside the secret, where the host signs in. */
  username?: string;
  /** The secret can be put nowhere but behind the address. */
  secretInAddress?: boolean;
}
