import type { Logger } from "pino";
import type { Signer } from "../access/signer.ts";
import type { Database } from "../store/sql.ts";
import type { Metrics } from "./metrics.ts";

/** What every handler stands on. */
export interface Services {
  db: Database;
  signer: Signer;
  log: Logger;
  metrics: Metrics;
  /** Address of the service as workers reach it; none means the one each request came to. */
  publicUrl?: string | undefined;
  /** Aborted when the service stops: long polls and watches end. */
  stopping: AbortSignal;
  version: string;
}
