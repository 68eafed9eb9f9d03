import { nameOf } from "../../access/authenticate.ts";
import { notFound, Problem } from "../../domain/problem.ts";
import { type RunRow, tryLockRun, viewRun } from "../../store/runs.ts";
import { advanceRun } from "../../tasks/runs.ts";
import type { Services } from "../services.ts";
import type { Call, Reply } from "../typed.ts";
import { write } from "../write.ts";
import { findRun } from "./read.ts";

type DecisionCall = Omit<Call<"approveStep">, "operation"> & { operation: "approveStep" | "rejectStep" };
type DecisionReply = Extract<Reply<"approveStep">, { status: 200 }>;

/**
 * A decision on a step that waits. It is one key's word: the same key approves once, however often it says so, and a key that belongs to
 * several people counts as one. The audit trail has a line for each.
 */
const decision =
  (s: Services, word: "approved" | "rejected") =>
  async (call: DecisionCall): Promise<DecisionReply> =>
    write(s, call, async (w) => {
      await findRun(w, call.scope, call.params.run);
      const run = (await tryLockRun(w, w.account, call.params.run))!;
      const by = nameOf(call.caller);
      checkMay(run, call, by);
      const step = run.steps.find(({ id }) => id === call.params.step)!;
      const [again] = (step.decisions ?? []).filter((d) => d.by === by && d.decision === word);
      if (step.state !== "Waiting" && !again)
        throw new Problem("conflict", `The step is ${step.state}: only one that waits can be ${word}.`);
      if (again) return { status: 200 as const, body: viewRun(run) };
      const { comment } = call.body;
      const [clock] = await w.query<{ now: Date }>("select outpost_now() as now");
      const role = call.caller?.kind === "key" && call.caller.key.role === "admin" ? ("admin" as const) : ("editor" as const);
      const one = { by, decision: word, role, ...(comment ? { comment } : {}), at: clock!.now.toISOString() };
      const steps = run.steps.map((s) => (s === step ? { ...s, decisions: [...(s.decisions ?? []), one] } : s));
      return { status: 200 as const, body: viewRun(await advanceRun(w, { ...run, steps }, true)) };
    });

export const approveStep = (s: Services) => decision(s, "approved");
export const rejectStep = (s: Services) => decision(s, "rejected");

function checkMay(run: RunRow, call: DecisionCall, by: string): void {
  const step = run.spec.steps.find(({ id }) => id === call.params.step);
  if (!step) throw notFound();
  if (!step.approval) throw new Problem("conflict", `The step \`${step.id}\` is a task: nobody needs to decide about it.`);
  const { role = "admin", excludeRequester = false } = step.approval;
  if (role === "admin" && !(call.caller?.kind === "key" && call.caller.key.role === "admin"))
    throw new Problem("forbidden", "This step is decided by the role admin in this scope.");
  if (excludeRequester && by === run.requestedBy)
    throw new Problem("forbidden", "Who started the run does not decide about this step: somebody else must.");
}
