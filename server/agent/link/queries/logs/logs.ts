import { stop } from "../../../../base/outcome.ts";
import { follow } from "../../../../base/process/signal.ts";
import type { WorkerTask } from "../../../../link/exchange.ts";
import type { Lease, Leases } from "../../../../link/leases.ts";
import { LogShipper } from "../../../../link/logs.ts";
import { sendResult } from "../../../../link/result.ts";
import type { Session } from "../../../../link/session.ts";
import type { LinkContext } from "../task.ts";

/** Each has a connection to the API server for as long as there is a reader. */
const MAX_TASKS = 8;
/** Of one tenant, so that the others can read too. */
const MAX_OF_TENANT = 6;
const END_MS = 4_000;

interface Reader {
  abort: AbortController;
  tenant: string | undefined;
}

/** Whose question it is: the account's agent has organizations below it, an organization's has projects. Nothing for the agent's own scope. */
function tenantIn(scope = "-/-", { params }: WorkerTask): string | undefined {
  const [org, project] = String((params as { key?: unknown }).key ?? "").split("/");
  const tenant = scope.startsWith("-/") ? org : project;
  return tenant && tenant !== "-" ? tenant : undefined;
}

/** Logs that are being read: like questions, but each goes on for as long as there is a reader. */
export class LogTasks {
  readonly #running = new Map<string, Reader>();

  get size(): number {
    return this.#running.size;
  }

  /** Ends a reading; false when there is none. */
  cancel(task: string): boolean {
    this.#running.get(task)?.abort.abort();
    return this.#running.has(task);
  }

  lost(leases: readonly Lease[]): void {
    for (const { task } of leases) this.cancel(task);
  }

  #whyFull(tenant: string | undefined): string | undefined {
    const again = "try again when one has left";
    if (this.#running.size >= MAX_TASKS) return `the agent reads logs for ${MAX_TASKS} others already; ${again}`;
    if (tenant === undefined) return undefined;
    const count = [...this.#running.values()].filter((one) => one.tenant === tenant).length;
    return count < MAX_OF_TENANT
      ? undefined
      : `the agent reads logs for ${MAX_OF_TENANT} others of ${tenant} already; ${again}`;
  }

  async run(
    { ctx, reads }: LinkContext,
    task: WorkerTask,
    session: Session,
    leases: Leases,
    signal: AbortSignal,
  ): Promise<void> {
    const abort = new AbortController();
    const tenant = tenantIn(ctx.scope, task);
    const full = this.#whyFull(tenant);
    if (full === undefined) this.#running.set(task.task, { abort, tenant });
    const time = AbortSignal.timeout(Math.max(1_000, task.timeoutSeconds * 1_000 - END_MS));
    const ending = new AbortController();
    const leave = follow(ending, signal);
    follow(ending, abort.signal);
    const shipper = new LogShipper({ session, lease: task, signal: ending.signal, refused: () => abort.abort() });
    const tell = (stream: "system" | "stdout", text: string) => shipper.write(stream, text);
    try {
      const outcome =
        full === undefined
          ? await reads.logs(ctx.account, task, tell, AbortSignal.any([ending.signal, time])).catch((error: Error) => {
              ctx.log.error({ task: task.task, error: error.stack }, "reading logs threw");
              return stop("InternalError", "a defect of the agent; its log has more");
            })
          : stop("TooManyReaders", full);
      if (time.aborted) void tell("system", "the time is over");
      await shipper.end();
      if (abort.signal.aborted) await sendResult(session, task, { outcome: "cancelled" }, signal);
      else if (outcome.kind === "done")
        await sendResult(session, task, { outcome: "succeeded", lastLog: shipper.last }, signal);
      else {
        const { reason, message } = outcome;
        const told = { reason: reason.slice(0, 128), message: message.slice(0, 4_096), lastLog: shipper.last };
        await sendResult(session, task, { outcome: "failed", ...told }, signal);
      }
    } finally {
      abort.abort();
      leave();
      this.#running.delete(task.task);
      leases.drop(task);
    }
  }
}
