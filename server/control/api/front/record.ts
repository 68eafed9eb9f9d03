import type { IncomingMessage } from "node:http";
import { type Caller, nameOf } from "../../access/authenticate.ts";
import type { Route } from "../route.ts";
import type { Services } from "../services.ts";

/** A call as it was answered. */
export interface Answered {
  id: string;
  started: number;
  route?: Route;
  caller?: Caller | undefined;
}

/** Counts an answer and writes its log line. */
export function record(
  s: Services,
  req: IncomingMessage,
  { id, started, route, caller }: Answered,
  status: number,
): void {
  const operation = route?.operation ?? "none";
  const seconds = (performance.now() - started) / 1_000;
  s.metrics.requests.inc({ operation, status: String(status) });
  // An operation that waits for something to happen takes a time that says nothing of the service.
  if (!route?.row.waits) s.metrics.seconds.observe({ operation }, seconds);
  // The path may be anything; headers and bodies are never logged.
  s.log.debug(
    { request: id, operation, method: req.method, status, ms: Math.round(seconds * 1_000), actor: nameOf(caller) },
    "answered",
  );
}
