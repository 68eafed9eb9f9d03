import type { Schemas } from "../../openapi/client.ts";

export type Report = Schemas["ObjectReport"];
type Collection = Report["collection"];

/** What identifies an object of this worker. */
export interface ObjectId {
  collection: Collection;
  key: string;
  uid: string;
}

// One batch fits into a request that the service takes; one report beyond its share loses its list of resources, not the batch.
const BATCH_BYTES = 768 * 1024;
const REPORT_BYTES = 512 * 1024;
const BATCH_COUNT = 1000;

interface Pending {
  report: Report;
  revision: number;
}

/**
 * The latest report of each object, waiting to be sent. A newer one takes the older one's place, so the map never grows beyond the
 * number of objects; the acknowledgement of a delivery and the status are kept apart and neither hides the other.
 */
export class Reports {
  readonly #pending = new Map<string, Pending>();
  #revision = 0;
  #wake: (() => void) | undefined;
  /** Reports that took the place of one not yet sent. */
  coalesced = 0;

  get size(): number {
    return this.#pending.size;
  }

  put(id: ObjectId, part: Omit<Report, keyof ObjectId | "revision">): void {
    const at = `${id.collection}/${id.key}/${id.uid}`;
    const old = this.#pending.get(at);
    if (old) this.coalesced++;
    const report: Report = { ...old?.report, ...id, ...part, revision: ++this.#revision };
    if (part.outcome) {
      // A reason belongs to its outcome; the new outcome comes with its own or none.
      if (part.reason === undefined) delete report.reason;
      if (part.message === undefined) delete report.message;
    }
    this.#pending.delete(at);
    this.#pending.set(at, { report: slim(report), revision: this.#revision });
    this.#wake?.();
  }

  /** The oldest reports that fit into one request. */
  batch(limit = BATCH_COUNT): Report[] {
    const out: Report[] = [];
    let bytes = 0;
    for (const { report } of this.#pending.values()) {
      bytes += JSON.stringify(report).length;
      if (out.length && (bytes > BATCH_BYTES || out.length >= limit)) break;
      out.push(report);
    }
    return out;
  }

  /** These arrived; later changes stay queued. */
  sent(batch: Report[]): void {
    for (const report of batch) {
      const at = `${report.collection}/${report.key}/${report.uid}`;
      if (this.#pending.get(at)?.revision === report.revision) this.#pending.delete(at);
    }
  }

  /** Resolves when there is something to send, or the signal ends. */
  async ready(signal: AbortSignal): Promise<void> {
    if (this.#pending.size || signal.aborted) return;
    await new Promise<void>((resolve) => {
      const finish = () => {
        this.#wake = undefined;
        signal.removeEventListener("abort", finish);
        resolve();
      };
      this.#wake = finish;
      signal.addEventListener("abort", finish, { once: true });
    });
  }
}

function slim(report: Report): Report {
  if (report.message && report.message.length > 4096)
    report = { ...report, message: `${report.message.slice(0, 4090)} […]` };
  const status = report.status as { resources?: unknown[]; conditions?: unknown[] } | undefined;
  if (!status?.resources || JSON.stringify(report).length <= REPORT_BYTES) return report;
  const now = new Date().toISOString();
  const message = `${status.resources.length} resources are too many for one report; look at them in the cluster`;
  const condition = {
    type: "ResourcesNotReported",
    status: "True",
    reason: "ReportTooLarge",
    message,
    lastTransitionTime: now,
  };
  return { ...report, status: { ...status, resources: [], conditions: [...(status.conditions ?? []), condition] } };
}
