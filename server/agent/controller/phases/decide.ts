import type { OperationState } from "../application.ts";
import { isBlind } from "../cluster/watch-kinds.ts";
import { heldBack } from "../config/windows.ts";
import { update } from "../memory.ts";
import { byItself, isAnswered, operationToRun } from "../sync/operation.ts";
import { type Seen, timeOf } from "./context.ts";

// An operation whose objects cannot be seen waits.
const UNSEEN_MS = 30_000;

/** The decision: nothing yet, an operation that waits unchanged, or its next step. */
export type Decided =
  | { readonly kind: "nothing"; readonly afterMs: number | undefined }
  | { readonly kind: "wait"; readonly state: OperationState; readonly afterMs: number }
  | { readonly kind: "step"; readonly state: OperationState };

/** Decides whether an operation is needed. */
export async function decide(look: Seen): Promise<Decided> {
  const { deps, app, memory, report, destination, wanted, unseen } = look;
  const { state, afterMs, blocked } = operationToRun({ ...look, now: timeOf(deps) });
  if (blocked) report.condition(blocked.type, blocked.reason, blocked.message);
  if (!state) return { kind: "nothing", afterMs };
  if (isAnswered(app, state, memory.begunAt)) report.take(app.operation!);
  if (state !== app.status?.operationState) update(memory, { begunAt: state.startedAt });
  if (state.phase !== "Running") return { kind: "step", state };
  // A closed window stops a running operation at its next step; an operation that has not begun waits.
  const away = isBlind(wanted.normalised.targets, unseen);
  const blind = away && { message: `waiting until its objects can be seen: ${away.message}`, afterMs: UNSEEN_MS };
  const held = blind ?? heldBack(look, { automated: byItself(state), running: state });
  if (!held) return { kind: "step", state };
  return { kind: "wait", state: { ...state, message: held.message }, afterMs: held.afterMs };
}
