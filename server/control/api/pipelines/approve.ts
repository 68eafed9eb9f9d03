import { lineageOf, nameOf } from "../../access/authenticate.ts";
import { personOf } from "../../domain/approval.ts";
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
 * A decision on a step that waits. It counts for one person: the same key approves once, however often it is used; keys of one lineage approve
 * once, and a key that belongs to several people counts as one. The audit trail has a line for each.
 */
const decision =
  (s: Services, word: "approved" | "rejected") =>
  async (call: DecisionCall): Promise<DecisionReply> =>
    write(s, call, async (w) => {
      await findRun(w, call.scope, call.params.run);
      const run = (await tryLockRun(w, w.account, call.params.run))!;
      const by = nameOf(call.caller);
      const lineage = lineageOf(call.caller);
      checkMay(run, call, lineage);
      const step = run.steps.find(({ id }) => id === call.params.step)!;
      const [again] = (step.decisions ?? []).filter((d) => d.by === by && d.decision === word);
      if (step.state !== "Waiting" && !again)
        throw new Problem("conflict", `The step is ${step.state}: only one that waits can be ${word}.`);
      if (again) return { status: 200 as const, body: viewRun(run) };
      const same = word === "approved" && step.decisions?.find((d) => d.decision === word && personOf(d) === lineage);
      if (same)
        throw new Problem("forbidden", `${same.by} has approved this step already. ${sharing(by, same.by, lineage)}`);
      const { comment } = call.body;
      const [clock] = await w.query<{ now: Date }>("select outpost_now() as now");
      const role =
        call.caller?.kind === "key" && call.caller.key.role === "admin" ? ("admin" as const) : ("editor" as const);
      const one = { by, lineage, decision: word, role, ...(comment ? { comment } : {}), at: clock!.now.toISOString() };
      const steps = run.steps.map((s) => (s === step ? { ...s, decisions: [...(s.decisions ?? []), one] } : s));
      return { status: 200 as const, body: viewRun(await advanceRun(w, { ...run, steps }, true)) };
    });

export const approveStep = (s: Services) => decision(s, "approved");
export const rejectStep = (s: Services) => decision(s, "rejected");

function checkMay(run: RunRow, call: DecisionCall, lineage: string): void {
  const step = run.spec.steps.find(({ id }) => id === call.params.step);
  if (!step) throw notFound();
  if (!step.approval) throw new Problem("conflict", `The step \`${step.id}\` is a task and needs no decision.`);
  const { role = "admin", excludeRequester = false } = step.approval;
  if (role === "admin" && !(call.caller?.kind === "key" && call.caller.key.role === "admin"))
    throw new Problem("forbidden", "This step is decided by the role admin in this scope.");
  if (excludeRequester && lineage === run.requester) {
    const by = nameOf(call.caller);
    const why = by === run.requestedBy ? "Use the key of another person." : sharing(by, run.requestedBy, lineage);
    throw new Problem("forbidden", `The person who started the run does not decide about this step. ${why}`);
  }
}

const sharing = (by: string, other: string, lineage: string): string =>
  `${by} and ${other} count as one person, because both come from ${lineage}: use a key that the account's first key made for another person.`;
