import { randomUUID } from "node:crypto";
import { type OperationRow, operations } from "../../../openapi/contract/operations.ts";
import { type Outcome, stop } from "../../base/outcome.ts";
import type { WorkerTask } from "../../link/exchange.ts";
import type { Transport } from "../../link/transport/transport.ts";
import { patiently } from "../config/retry.ts";

export type OperationId = keyof typeof operations;

export interface ApiAsk {
  path?: Record<string, string>;
  query?: Record<string, string>;
  body?: unknown;
}

const DEADLINE_MS = 30_000;

/** One operation of the service's API with the task's own token, in the task's scope. What may be repeated is. */
export async function askApi<T>(
  operation: OperationId,
  { path = {}, query = {}, body }: ApiAsk,
  { transport, task, signal }: { transport: Transport; task: WorkerTask; signal: AbortSignal },
): Promise<Outcome<T>> {
  const row: OperationRow = operations[operation];
  if (!row.task) return stop("OperationRefused", `the operation ${operation} is not open to tasks`);
  if (!task.token)
    return stop("NoTaskToken", "the service gave this task no token for its API; it may be older than this delegate");
  const { org, project } = task.scope ?? {};
  const route = row.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path[name] ?? ""));
  const ask = {
    query: { ...(row.scoped && org ? { org } : {}), ...(row.scoped && project ? { project } : {}), ...query },
    bearer: task.token,
    deadlineMs: DEADLINE_MS,
    signal,
    ...(body === undefined ? {} : { body }),
    ...(row.idempotent ? { headers: { "idempotency-key": randomUUID() } } : {}),
  };
  const call = () => transport.call<T>(row.method as "GET" | "POST", route, ask);
  return row.method === "GET" || row.idempotent ? patiently(call, signal) : call();
}
