import type { Logger } from "pino";
import type { Signer } from "../access/signer.ts";
import type { Limits } from "../domain/limits.ts";
import type { Database } from "../store/database/sql.ts";
import type { Strangers } from "../strangers/strangers.ts";
import type { Contacts } from "../tasks/presence.ts";
import type { Questions } from "../tasks/questions/questions.ts";
import type { Bounds } from "../tasks/queue/bounds.ts";
import type { Dispatchers } from "../tasks/queue/dispatcher.ts";
import type { Metrics } from "./metrics.ts";
import type { Webhooks } from "./webhooks/door.ts";

/** What every handler needs. */
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
  /** Where delegates wait for tasks. */
  dispatchers: Dispatchers;
  /** The last contact of each worker. */
  contacts: Contacts;
  bounds: Bounds;
  /** What callers without a valid credential may use. */
  strangers: Strangers;
  /** How many questions to agents may wait. */
  questions: Questions;
  /** Hints from Git hosts. */
  webhooks: Webhooks;
  /** How much is kept of tasks. */
  limits: Limits;
}
