import type { Command } from "commander";
import { nounOf, type Readiness } from "../objects/nouns.ts";
import { waitFor } from "../objects/wait.ts";
import { EXIT, Failure, usage } from "../output/failure.ts";
import type { Io } from "../output/io.ts";
import { type Session, verb } from "../session/session.ts";
import { type Json, say, show } from "../show.ts";

interface RollbackFlags {
  prune?: boolean;
  dryRun?: boolean;
  wait: boolean;
  timeout: string;
}

/** `app rollback` and `app terminate`. */
export function operationVerbs(app: Command, io: Io): void {
  app
    .command("rollback <id> <history-id>")
    .summary("deploy again what an entry of the history deployed")
    .option("--prune", "delete what that revision does not have")
    .option("--dry-run", "only try")
    .option("--no-wait", "do not wait until it is done")
    .option("--timeout <duration>", "how long to wait", "5m")
    .action(verb(io, rollback));
  app
    .command("terminate <id>")
    .summary("end the operation that runs")
    .option("--no-wait", "do not wait until it has ended")
    .option("--timeout <duration>", "how long to wait", "1m")
    .action(verb(io, terminate));
}

async function rollback(s: Session, id: string, entry: string, flags: RollbackFlags): Promise<void> {
  if (!/^\d{1,9}$/.test(entry))
    throw usage(`the id of an entry of the history is a number, not ${JSON.stringify(entry)} (outpost app history ${id})`);
  const { prune, dryRun } = flags;
  const headers = { "idempotency-key": crypto.randomUUID() };
  const started = await (await s.api()).call<Json>("rollbackApplication", {
    path: { id },
    body: { id: Number(entry), prune, dryRun },
    headers,
  });
  if (!flags.wait) {
    say(s, `${s.e.green("✓")} app ${s.e.bold(id)} goes back to entry ${entry}`);
    return asked(s, started);
  }
  const operation = started.status?.operation?.id;
  asked(s, await waitFor(s, nounOf("app")!, id, flags.timeout, (o) => ended(o, operation)));
}

/** Whether the operation that was asked for has ended, and how; an answer about one before it says nothing yet. */
function ended(o: Json, operation: string | undefined): Readiness {
  const now = o.status?.operation;
  const ours = operation === undefined || now?.id === operation;
  if (!ours || now?.phase === "Pending") return { ready: false, reason: "waiting for the agent" };
  if (now?.phase === "Succeeded") return { ready: true, reason: now.message ?? "done" };
  const failed = now?.phase === "Failed" || now?.phase === "Error";
  return { ready: false, failed, reason: now?.message ?? `it is ${now?.phase}` };
}

async function terminate(s: Session, id: string, flags: { wait: boolean; timeout: string }): Promise<void> {
  const before = await (await s.api()).call<Json>("terminateApplication", { path: { id } });
  if (!flags.wait) {
    say(s, `${s.e.green("✓")} the operation of app ${s.e.bold(id)} is being ended`);
    return asked(s, before);
  }
  const running = before.status?.operation?.id;
  const object = await waitFor(s, nounOf("app")!, id, flags.timeout, (o) => {
    const { phase, message, id: now } = o.status?.operation ?? {};
    const open = ["Pending", "Running", "Terminating"].includes(phase);
    if (open && running !== undefined && now !== running) throw new Failure(`app ${id}: another operation runs now`, EXIT.failed);
    return open ? { ready: false, reason: message ?? "waiting for its end" } : { ready: true, reason: message ?? "ended" };
  });
  asked(s, object);
}

const asked = (s: Session, object: Json): void => {
  if (s.format !== "table" && s.format !== "wide") show(s, [object], nounOf("app")!.columns, { one: true });
};
