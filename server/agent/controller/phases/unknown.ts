import type { Failure } from "../../../base/outcome.ts";
import type { Deps, Next } from "../deps.ts";
import { withoutTargets } from "../sync/operation.ts";
import { type Look, timeOf } from "./context.ts";

// An operation that waits for what is wrong, see `withoutTargets`.
const WAITING_MS = 3_000;
// A refused status will be refused again, so retrying twice a second would not help.
const REFUSED_MS = 30_000;

/** The desired state is unknown, so nothing changes: the status only reports the reason. */
export async function tellUnknown(
  look: Look,
  type: string,
  failure: Failure,
  refreshed = false,
): Promise<Next | undefined> {
  const { deps, app, name, memory, report } = look;
  report.condition(type, failure.reason, failure.message);
  const failingSince = memory.failure?.failure === failure ? new Date(memory.failure.since).toISOString() : undefined;
  const ended = withoutTargets(app, { type, failure, now: timeOf(deps), failingSince });
  if (ended) report.set({ operationState: ended });
  if (ended && ended.operation === app.operation) report.take(ended.operation);
  report.set({
    sync: { ...report.status.sync, status: "Unknown" },
    health: report.status.health ?? { status: "Unknown" },
  });
  const written = await report.end({ refreshed });
  if (written.kind !== "done") return untilWritten(deps, name, written);
  if (failure.kind === "later") return { afterMs: failure.afterMs };
  // An operation that was asked for while another was ending still waits.
  return app.operation && ended?.operation !== app.operation ? { afterMs: WAITING_MS } : undefined;
}

/** When to look again at an application whose status could not be written. */
export function untilWritten(deps: Deps, name: string, failure: Failure): Next {
  if (failure.kind !== "stop") return { afterMs: 500 };
  deps.log.warn({ app: name, reason: failure.reason }, `its status cannot be written: ${failure.message}`);
  return { afterMs: REFUSED_MS };
}
