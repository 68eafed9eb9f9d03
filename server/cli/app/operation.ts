import type { Command } from "commander";
import { explainer, KEEP_WAITING } from "../objects/explain.ts";
import { forEach } from "../objects/list/many.ts";
import { chosen, type Selection, selectFlags } from "../objects/list/select.ts";
import { application, nounOf, type Readiness, resourceName } from "../objects/nouns.ts";
import { waitFor } from "../objects/wait.ts";
import { EXIT, Failure, usage } from "../output/failure.ts";
import type { Io } from "../output/io.ts";
import { type Session, verb } from "../session/session.ts";
import { type Json, say, show } from "../show.ts";
import { dryRunSummary, showDryRun } from "./dry-run.ts";
import { findResource, parseResource, RESOURCE } from "./resource-name.ts";

export interface RollbackFlags {
  prune?: boolean;
  dryRun?: boolean;
  wait: boolean;
  keepWaiting?: boolean;
  timeout: string;
}
interface SyncFlags extends RollbackFlags {
  revision?: string;
  resource?: string[];
  syncOption?: string[];
}
const APP = nounOf("app")!;
const collect = (text: string, before: string[] | undefined): string[] => [...(before ?? []), text];

/** `app sync`, `app rollback` and `app terminate`. */
export function operationVerbs(app: Command, io: Io): void {
  const syncs = app
    .command("sync [ids...]")
    .summary("make live equal Git")
    .option("--revision <revision>", "another branch, tag or commit, once")
    .option("--prune", "delete what Git no longer has")
    .option("--dry-run", "only try, and show what would be done with each object")
    .option("--resource <resource>", `only this object, as ${RESOURCE}; may be repeated`, collect)
    .option("--sync-option <Name=value>", "may be repeated", collect)
    .option("--wait", "wait until it is Synced and Healthy", true)
    .option("--no-wait", "do not wait until it is Synced and Healthy")
    .option(...KEEP_WAITING)
    .option("--timeout <duration>", "how long to wait", "5m");
  selectFlags(syncs, APP).action(
    verb(io, async (s, ids: string[], flags: SyncFlags & Selection) => {
      const all = await chosen(s, APP, ids, flags);
      if (flags.resource && all.length > 1) throw usage("--resource names an object of one application");
      await forEach(s, APP, all, (each, id) => sync(each, id, flags));
    }),
  );
  rollbackFlags(
    app.command("rollback <id> <history-id>").summary("deploy again what an entry of the history deployed"),
  ).action(verb(io, rollback));
  app
    .command("terminate <id>")
    .summary("end the operation that runs")
    .option("--wait", "wait until it has ended", true)
    .option("--no-wait", "do not wait until it has ended")
    .option("--timeout <duration>", "how long to wait", "1m")
    .action(verb(io, terminate));
}

/** The flags of every rollback. */
export const rollbackFlags = (command: Command): Command =>
  command
    .option("--prune", "delete what that revision does not have")
    .option("--dry-run", "only try, and show what would be done with each object")
    .option("--wait", "wait until it is done and Healthy", true)
    .option("--no-wait", "do not wait until it is done and Healthy")
    .option(...KEEP_WAITING)
    .option("--timeout <duration>", "how long to wait", "5m");

async function sync(s: Session, id: string, flags: SyncFlags): Promise<Json> {
  const { revision, prune, dryRun, resource, syncOption } = flags;
  const resources = resource && (await resourcesNamed(s, id, resource));
  const body = { revision, prune, dryRun, resources, syncOptions: syncOption };
  const headers = { "idempotency-key": crypto.randomUUID() };
  const started = await (await s.api()).call<Json>("syncApplication", { path: { id }, body, headers });
  if (!flags.wait) {
    say(s, `${s.e.green("✓")} app ${s.e.bold(id)} is being synced`);
    return started;
  }
  const after = dryRun || resource ? undefined : (o: Json) => needsPrune(o, prune === true) ?? application(o);
  return waitForOperation(s, id, started, flags, after);
}

/** The objects that a person named; a kind that only one group of the application has needs no group. */
async function resourcesNamed(s: Session, id: string, names: string[]) {
  const wanted = names.map((text) => parseResource(text));
  const known = ((await (await s.api()).call<Json>("getApplication", { path: { id } })).status?.resources ??
    []) as Json[];
  // Before the first comparison nothing is known: the agent tells then.
  return known.length === 0 ? wanted : wanted.map((one) => findResource(one, known, id));
}

async function rollback(s: Session, id: string, entry: string, flags: RollbackFlags): Promise<void> {
  if (!/^\d{1,9}$/.test(entry))
    throw usage(
      `the id of an entry of the history is a number, not ${JSON.stringify(entry)} (outpost app history ${id})`,
    );
  const { prune, dryRun } = flags;
  const headers = { "idempotency-key": crypto.randomUUID() };
  const body = { id: Number(entry), prune, dryRun };
  const started = await (await s.api()).call<Json>("rollbackApplication", { path: { id }, body, headers });
  await followRollback(s, started, `entry ${entry}`, flags);
}

/** Waits for a rollback that has been asked for, unless told not to. */
export async function followRollback(s: Session, started: Json, to: string, flags: RollbackFlags): Promise<void> {
  const { id } = started;
  if (!flags.wait) {
    say(s, `${s.e.green("✓")} app ${s.e.bold(id)} goes back to ${to}`);
    return asked(s, started);
  }
  // Git wants something else by now, so it is OutOfSync afterwards: its health alone counts.
  asked(s, await waitForOperation(s, id, started, flags, flags.dryRun ? undefined : healthy));
}

/** Waits for the end of the operation that `started` shows, and then until `after` holds. A dry run shows what it would do, also when it fails. */
async function waitForOperation(
  s: Session,
  id: string,
  started: Json,
  flags: RollbackFlags,
  after?: (o: Json) => Readiness,
): Promise<Json> {
  const operation = started.status?.operation?.id;
  let last: Json = {};
  const holds = (o: Json) => {
    last = o;
    const end = ended(o, operation, id);
    return end.ready && after ? after(o) : end;
  };
  const explain = explainer(await s.api(), id, !flags.keepWaiting);
  try {
    return await waitFor(s, APP, id, { timeout: flags.timeout, holds, explain });
  } finally {
    if (flags.dryRun && isTable(s) && last.status?.operation?.id === operation) showDryRun(s, last);
  }
}

function healthy(o: Json): Readiness {
  const state = o.status?.health?.status;
  if (state === "Healthy") return { ready: true, reason: `${o.status?.operation?.message ?? "done"}, Healthy` };
  const { reason, ready } = application(o);
  return { ready: false, reason: ready ? `its health is ${state ?? "Unknown"}` : reason };
}

/** All that differs is no longer in Git: without `--prune` a sync leaves that, so there is nothing to wait for. */
function needsPrune(o: Json, prune: boolean): Readiness | undefined {
  const different = ((o.status?.resources ?? []) as Json[]).filter(({ status }) => status && status !== "Synced");
  if (prune || different.length === 0 || !different.every(({ requiresPruning }) => requiresPruning)) return undefined;
  const names = different.slice(0, 3).map(resourceName).join(", ");
  const more = different.length > 3 ? ` and ${different.length - 3} more` : "";
  const verb = different.length === 1 ? "is" : "are";
  return {
    ready: false,
    failed: true,
    reason: `${names}${more} ${verb} no longer in Git; run with --prune to delete ${verb === "is" ? "it" : "them"}`,
  };
}

/** Whether the operation that was asked for has ended, and how; an answer about one before it says nothing yet. */
function ended(o: Json, operation: string | undefined, id: string): Readiness {
  const now = o.status?.operation;
  const ours = operation === undefined || now?.id === operation;
  if (!ours && /Retrying attempt #\d+ at \S+\.$/.test(now?.message ?? ""))
    return { ready: false, reason: `takes the place of a sync that failed: ${now.message}` };
  if (!ours && (now?.phase === "Running" || now?.phase === "Terminating"))
    return {
      ready: false,
      reason: `waiting for the end of another operation (\`outpost app terminate ${id}\` ends it): ${now.message ?? now.phase}`,
    };
  if (!ours || now?.phase === "Pending") return { ready: false, reason: "waiting for the agent" };
  if (now?.phase === "Succeeded")
    return { ready: true, reason: now.dryRun ? `dry run: ${dryRunSummary(o)}` : (now.message ?? "done") };
  const failed = now?.phase === "Failed" || now?.phase === "Error";
  if (failed && now.dryRun && now.results) return { ready: false, failed, reason: `dry run: ${dryRunSummary(o)}` };
  return { ready: false, failed, reason: now?.message ?? `it is ${now?.phase}` };
}

async function terminate(s: Session, id: string, flags: { wait: boolean; timeout: string }): Promise<void> {
  const before = await (await s.api()).call<Json>("terminateApplication", { path: { id } });
  if (!flags.wait) {
    say(s, `${s.e.green("✓")} the operation of app ${s.e.bold(id)} is being ended`);
    return asked(s, before);
  }
  const running = before.status?.operation?.id;
  const holds = (o: Json): Readiness => {
    const { phase, message, id: now } = o.status?.operation ?? {};
    const open = ["Pending", "Running", "Terminating"].includes(phase);
    if (open && running !== undefined && now !== running)
      throw new Failure(`app ${id}: another operation runs now`, EXIT.failed);
    return open
      ? { ready: false, reason: message ?? "waiting for its end" }
      : { ready: true, reason: message ?? "ended" };
  };
  asked(s, await waitFor(s, APP, id, { timeout: flags.timeout, holds }));
}

const isTable = ({ format }: Session): boolean => format === "table" || format === "wide";

const asked = (s: Session, object: Json): void => {
  if (!isTable(s)) show(s, [object], APP.columns, { one: true });
};
