import type { OperationState } from "../application.ts";
import type { CompareTarget } from "../compare/normalise.ts";
import { firstReason } from "../config/policy.ts";
import type { Observed } from "../status/observed.ts";
import { history, retry, targetsOf, withInputs } from "../sync/operation.ts";
import { endOf } from "../sync/results.ts";
import { advance } from "../sync/sync.ts";
import { end, go, type Seen, type Step, timeOf } from "./context.ts";
import type { Decided } from "./decide.ts";
import { observeAgain, shortOf } from "./observe.ts";
import { untilWritten } from "./unknown.ts";

/** The end of a look: the cluster as it is now, and when the operation continues. */
export interface Stepped {
  readonly seen: Observed;
  readonly state: OperationState | undefined;
  readonly afterMs: number | undefined;
}

// The next step only waits until this one is stored.
const AT_ONCE_MS = 1;

/** Takes the next step of the operation, if there is one to take. */
export async function takeStep(look: Seen, decision: Decided): Promise<Step<Stepped>> {
  const { app, deps, report, seen, wanted } = look;
  if (decision.kind === "nothing") return go({ seen, state: undefined, afterMs: decision.afterMs });
  report.set({ operationState: decision.state });
  if (decision.kind === "wait") return go({ seen, state: decision.state, afterMs: decision.afterMs });
  report.begin("Syncing", `syncing to ${shortOf(wanted.revisions)}`);
  const stepped = await advanced(look, decision.state);
  if (stepped.kind === "end") return stepped;
  const again = retry(stepped.value.state, deps.now());
  const state = again?.state ?? stepped.value.state;
  report.set({ operationState: withInputs(app, state), history: history(app, state, report.status.history) });
  // A failed dry run says nothing about the live objects.
  if (!state.operation.sync?.dryRun && (state.phase === "Failed" || state.phase === "Error" || again))
    report.condition("SyncError", firstReason(state) ?? "SyncFailed", state.message ?? "the sync failed");
  return go({ seen: await observeAgain(look), state, afterMs: again?.afterMs ?? stepped.value.afterMs });
}

/** The operation after one step. Ends the look when it must be written down first that a hook is to run, and cannot be. */
async function advanced(
  look: Seen,
  state: OperationState,
): Promise<Step<{ state: OperationState; afterMs: number | undefined }>> {
  const { app, deps, destination, memory, unseen, wanted } = look;
  const now = () => timeOf(deps);
  const targets = await targetsOf(look, state, wanted);
  if (targets.kind !== "done") {
    const phase = targets.kind === "stop" ? ("Failed" as const) : ("Error" as const);
    return go({
      state: { ...state, phase, message: targets.message, finishedAt: endOf(state, now()) },
      afterMs: undefined,
    });
  }
  const noted = await noteHooks(look, state, targets.value);
  if (noted.kind === "end") return noted;
  const { waveDelayMs } = deps;
  const prune = state.operation.sync?.prune === true;
  const { verdicts } = memory;
  const step = await advance({
    app,
    state,
    targets: targets.value,
    destination,
    verdicts,
    prune,
    unseen,
    waveDelayMs,
    now,
  });
  return go({ state: step.state, afterMs: step.soon ? AT_ONCE_MS : undefined });
}

/** A hook runs once: its start is recorded before it runs, so that the next controller knows. */
async function noteHooks(
  { app, deps, name, report }: Seen,
  state: OperationState,
  targets: readonly CompareTarget[],
): Promise<Step<undefined>> {
  // The start time is not enough: two operations may start within a second.
  const isNoted = app.status?.operationState === state || state.operation.sync?.dryRun;
  if (isNoted || !targets.some(({ hook }) => hook && !hook.skip)) return go(undefined);
  const saved = await report.save();
  if (saved.kind === "done") return go(undefined);
  await report.drop();
  return end(untilWritten(deps, name, saved));
}
