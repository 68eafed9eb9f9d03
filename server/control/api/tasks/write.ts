import type { Tx } from "../../store/database/sql.ts";
import type { Services } from "../services.ts";
import type { AnyReply } from "../typed.ts";
import { recorded, type WriteCall } from "../write.ts";

/**
 * A write of tasks: effect, audit line and kept answer in one transaction, as `write` does it, but without the account's lock. A task
 * is no object with a version, so tasks need not be written one after the other.
 */
export function writeTask<R extends AnyReply>(s: Services, call: WriteCall, work: (tx: Tx) => Promise<R>): Promise<R> {
  return s.db.transaction((tx) => recorded(s, tx, call, () => work(tx)));
}
