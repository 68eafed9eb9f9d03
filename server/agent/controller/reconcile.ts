import type { Application } from "./application.ts";
import { skips } from "./config/skips.ts";
import { finalize } from "./delete/finalize.ts";
import type { Deps, Next } from "./deps.ts";
import { lookAt } from "./phases/context.ts";
import { decide } from "./phases/decide.ts";
import { fetchWanted } from "./phases/fetch.ts";
import { observeLive } from "./phases/observe.ts";
import { findPlace } from "./phases/place.ts";
import { takeStep } from "./phases/step.ts";
import { tell } from "./phases/tell.ts";
import type { Report } from "./status/report.ts";

/**
 * One reconciliation of one application, from its specification to its status. Returns when the next is due; undefined: at a change or refresh.
 * Each phase returns the input of the next one, or ends the reconciliation with a status that names the reason.
 */
export async function reconcile(deps: Deps, app: Application, report: Report): Promise<Next | undefined> {
  if (skips(app)) return undefined;
  const look = lookAt(deps, app, report);
  // The deletion of an application deletes its objects too, if its finalizer asks for it.
  if (app.metadata.deletionTimestamp) return finalize(deps, app, look.memory, report);

  // Validate the specification and find its destination.
  const placed = await findPlace(look);
  if (placed.kind === "end") return placed.next;

  // Fetch the desired state from Git.
  const fetched = await fetchWanted(placed.value);
  if (fetched.kind === "end") return fetched.next;

  // Observe the live state.
  const seen = await observeLive(fetched.value);

  // Decide whether an operation is needed.
  const decision = await decide(seen);

  // Do it, one step at a time.
  const stepped = await takeStep(seen, decision);
  if (stepped.kind === "end") return stepped.next;

  return tell(seen, stepped.value);
}
