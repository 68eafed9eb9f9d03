import type { Logger } from "pino";
import type { Database } from "../../store/database/sql.ts";
import type { Affected } from "./affected.ts";
import { HookBounds } from "./bounds.ts";
import { Bursts } from "./bursts.ts";
import { HookMarks } from "./marks.ts";

/** What one replica remembers of calls of webhooks; losing it loses nothing but its bounds. */
export class Webhooks {
  readonly bounds = new HookBounds();
  readonly bursts: Bursts<Affected>;
  readonly marks: HookMarks;

  constructor(db: Database, log: Pick<Logger, "warn">) {
    this.bursts = new Bursts((err) =>
      log.warn({ err }, "agents could not be told of a change; they find it by polling"),
    );
    this.marks = new HookMarks(db, (err) => log.warn({ err }, "a webhook's status could not be written"));
  }

  async close(): Promise<void> {
    await this.bursts.close();
    await this.marks.close();
  }
}
