import type { Schemas } from "../../../../openapi/client.ts";
import type { Failure } from "../../../base/outcome.ts";

type Condition = Schemas["WorkerCondition"];
const MESSAGE = 1_024;
// As many as a person wants to read.
const NAMED = 5;

/** The agent's own conditions: only problems. */
export class Conditions {
  readonly #changed: () => void;
  readonly #failed = new Map<string, { reason: string; what: string }>();
  readonly #others = new Map<string, Condition>();
  /** The last report of this session. */
  #told: string | undefined;

  constructor(changed: () => void) {
    this.#changed = changed;
  }

  set(type: string, now: { reason: string; message: string } | undefined): void {
    const before = JSON.stringify(this.#others.get(type));
    if (now)
      this.#others.set(type, { type, status: "True", reason: now.reason, message: now.message.slice(0, MESSAGE) });
    else this.#others.delete(type);
    if (JSON.stringify(this.#others.get(type)) !== before) this.#changed();
  }

  failed(kind: string, place: string, { reason, message }: Failure): void {
    this.#failed.set(`${kind}/${place}`, {
      reason,
      what: `${kind}s of ${place === "*" ? "all namespaces" : place}: ${message}`,
    });
    this.#changed();
  }

  listed(kind: string, place: string): void {
    if (this.#failed.delete(`${kind}/${place}`)) this.#changed();
  }

  /** A new session: the service is to hear it again. */
  again(): void {
    this.#told = undefined;
  }

  /** The conditions, if the service does not have them yet. */
  news(): Condition[] | undefined {
    const now = this.#all();
    return JSON.stringify(now) === this.#told ? undefined : now;
  }

  told(conditions: readonly Condition[]): void {
    this.#told = JSON.stringify(conditions);
  }

  #all(): Condition[] {
    const all = [...this.#others.values()];
    const failed = [...this.#failed.values()];
    if (failed.length) {
      const shown = failed.slice(0, NAMED).map(({ what }) => what);
      const more = failed.length > NAMED ? `; and ${failed.length - NAMED} more` : "";
      const message = `Not shown, because the agent cannot list them: ${shown.join("; ")}${more}. Grant its account get, list and watch there.`;
      all.push({
        type: "DiscoveryIncomplete",
        status: "True",
        reason: failed[0]!.reason,
        message: message.slice(0, MESSAGE),
      });
    }
    return all.sort((a, b) => (a.type < b.type ? -1 : 1));
  }
}
