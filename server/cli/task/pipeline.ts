import { type Command, Option } from "commander";
import type { Schemas } from "../../../openapi/client.ts";
import { tryParseDuration } from "../../base/lang/duration.ts";
import { pause } from "../../base/process/pause.ts";
import { EXIT, Failure, usage } from "../output/failure.ts";
import type { Io } from "../output/io.ts";
import type { Api } from "../session/api.ts";
import { type Session, verb } from "../session/session.ts";
import { type Json, say, show, showAs } from "../show.ts";
import { readLines, writeLines } from "./logs.ts";
import { describeRun, type Run, RunView, runColumns, waitsFor } from "./run-view.ts";

interface WaitFlags {
  logs?: boolean;
  timeout: string;
}
// The service holds a request as long; a run in which nothing happens costs four requests a minute.
const WAIT_SECONDS = 15;
const PAUSE_MS = 1_000;
const OVER = ["Succeeded", "Failed", "Cancelled", "TimedOut"];

const waitFlags = (command: Command): Command =>
  command
    .option("--logs", "show what the steps write, each line with its step")
    .option("--timeout <duration>", "how long to wait; the run goes on", "24h");

/** `pipeline run ID`. */
export function pipelineVerbs(parent: Command, io: Io): void {
  const collect = (text: string, before: Record<string, string> = {}): Record<string, string> => {
    const at = text.indexOf("=");
    if (at < 1) throw usage(`--input takes name=value, not ${JSON.stringify(text)}`);
    return { ...before, [text.slice(0, at)]: text.slice(at + 1) };
  };
  waitFlags(
    parent
      .command("run <id>")
      .summary("start a run")
      .option("--input <name=value>", "an input; may be repeated", collect)
      .option("-w, --wait", "show its steps until it ends; exits 1 unless it succeeds, 5 when it is out of time"),
  ).action(
    verb(io, async (s, id: string, given: WaitFlags & { input?: Record<string, string>; wait?: boolean }) => {
      const args = {
        path: { id },
        body: { inputs: given.input ?? {} },
        headers: { "idempotency-key": crypto.randomUUID() },
      };
      const run = await (await s.api()).call<Run>("runPipeline", args);
      if (given.wait || given.logs) {
        if (s.format === "table") say(s, s.e.dim(`run ${run.id}`));
        return follow(s, run, given);
      }
      if (s.format === "table" || s.format === "wide") {
        say(s, `${s.e.green("✓")} run started; outpost run wait ${run.id}`);
        s.io.out.write(`${run.id}\n`);
      } else show(s, [run], runColumns, { one: true });
    }),
  );
}

/** `outpost run …`: runs of pipelines. */
export function runsVerbs(root: Command, io: Io): void {
  const run = root.command("run").summary("runs of pipelines");
  run
    .command("list")
    .alias("ls")
    .summary("list runs, newest first")
    .option("--pipeline <id>", "only those of one pipeline")
    .option("--limit <n>", "at most so many", "50")
    .action(verb(io, list));
  run
    .command("get <run>")
    .summary("show one")
    .action(
      verb(io, async (s, id: string) => {
        const got = await (await s.api()).call<Run>("getRun", { path: { run: id } });
        if (s.format === "name" || s.format === "wide") show(s, [got], runColumns);
        else showAs(s, got, () => describeRun(got, s.c));
      }),
    );
  waitFlags(
    run
      .command("wait <run>")
      .summary("show its steps until it ends; exits 1 unless it succeeds, 5 when it is out of time"),
  ).action(
    verb(io, async (s, id: string, given: WaitFlags) =>
      follow(s, await (await s.api()).call<Run>("getRun", { path: { run: id } }), given),
    ),
  );
  cancelVerb(run, io);
  decisionVerbs(run, io);
}

function cancelVerb(run: Command, io: Io): void {
  run
    .command("cancel <run>")
    .summary("end it and the tasks of its steps")
    .action(
      verb(io, async (s, id: string) => {
        const got = await (await s.api()).call<Run>("cancelRun", { path: { run: id } });
        if (s.format !== "table" && s.format !== "wide") return show(s, [got], runColumns, { one: true });
        say(
          s,
          OVER.includes(got.state)
            ? `run ${id} has ended: ${got.state}`
            : `${s.e.green("✓")} run ${s.e.bold(id)} is being cancelled`,
        );
      }),
    );
}

/** Decisions of people about a step that waits for them. */
function decisionVerbs(run: Command, io: Io): void {
  for (const [word, operation] of [
    ["approve", "approveStep"],
    ["reject", "rejectStep"],
  ] as const)
    run
      .command(`${word} <run> <step>`)
      .summary(word === "approve" ? "let a step that waits go on" : "end a step that waits as failed")
      .addOption(new Option("-m, --comment <text>", "the reason; shown to everyone who can see the run"))
      .action(
        verb(io, async (s, id: string, step: string, given: { comment?: string }) => {
          const body = given.comment ? { comment: given.comment } : {};
          const got = await (await s.api()).call<Run>(operation, { path: { run: id, step }, body });
          if (s.format !== "table" && s.format !== "wide") return show(s, [got], runColumns, { one: true });
          const now = got.steps.find((x) => x.id === step);
          const more = now?.state === "Waiting" ? "; more approvals are needed" : "";
          say(s, `${s.e.green("✓")} step ${s.e.bold(step)} ${word === "approve" ? "approved" : "rejected"}${more}`);
        }),
      );
}

async function list(s: Session, flags: { pipeline?: string; limit: string }): Promise<void> {
  const limit = Number(flags.limit);
  if (!(limit >= 1)) throw usage(`--limit takes a number from 1, not ${JSON.stringify(flags.limit)}`);
  const api = await s.api();
  const items: Run[] = [];
  let cursor: string | undefined;
  do {
    const query = { cursor, limit: Math.min(500, limit - items.length), pipeline: flags.pipeline };
    const page = await api.call<Schemas["RunList"]>("listRuns", { query });
    items.push(...page.items);
    cursor = page.nextCursor;
  } while (cursor && items.length < limit);
  show(s, items as Json[], runColumns, { empty: "no runs" });
}

/** Follows a run to its end. The exit code tells how the run ended; the run itself goes on when the command is interrupted. */
async function follow(s: Session, run: Run, flags: WaitFlags): Promise<void> {
  const ms = tryParseDuration(flags.timeout);
  if (ms === undefined)
    throw usage(`--timeout must be a duration such as 90s or 5m, not ${JSON.stringify(flags.timeout)}`);
  const deadline = AbortSignal.timeout(ms);
  const signal = AbortSignal.any([deadline, s.io.signal]);
  const api = await s.api();
  const view = new RunView(s.io, !flags.logs);
  const logs = new Map<string, Promise<void>>();
  let now = run;
  try {
    for (;;) {
      view.show(now);
      if (flags.logs)
        for (const step of now.steps)
          if (step.task && !logs.has(step.task)) logs.set(step.task, stepLogs(s, api, step.id, step.task));
      if (OVER.includes(now.state)) break;
      if (deadline.aborted)
        throw new Failure(`run ${run.id} did not end within ${flags.timeout}: ${waitsFor(now)}`, EXIT.timeout);
      if (signal.aborted)
        throw new Failure(`interrupted; the run goes on: outpost run wait ${run.id}`, EXIT.interrupted);
      now = await next(api, now, signal);
    }
    await Promise.all(logs.values());
  } finally {
    view.end();
  }
  if (s.format !== "table" && s.format !== "wide") show(s, [now], runColumns, { one: true });
  if (now.state !== "Succeeded")
    throw new Failure(
      `run ${run.id} ended as ${now.state}${now.message ? `: ${now.message}` : ""}`,
      now.state === "TimedOut" ? EXIT.timeout : EXIT.failed,
    );
  say(s, `${s.e.green("✓")} run ${run.id} succeeded`);
}

/** The run when it has changed, or as it is after a while; a service that is away for a moment is asked again. */
async function next(api: Api, run: Run, signal: AbortSignal): Promise<Run> {
  const asked = Date.now();
  try {
    const answer = await api.send(
      "getRun",
      { path: { run: run.id }, query: { wait: WAIT_SECONDS, after: run.revision } },
      signal,
    );
    const now = (await answer.json()) as Run;
    // Something between that answers at once must not make us ask without end.
    if (now.revision === run.revision && Date.now() - asked < PAUSE_MS) await pause(PAUSE_MS, signal);
    return now;
  } catch (error) {
    if (signal.aborted) return run;
    if (error instanceof Failure && error.exit !== EXIT.unreachable && error.exit !== EXIT.timeout) throw error;
    await pause(PAUSE_MS, signal);
    return run;
  }
}

async function stepLogs(s: Session, api: Api, step: string, task: string): Promise<void> {
  // What the follower has to say is the run; a log that cannot be read does not end it.
  await readLines(api, task, { follow: true }, (lines) => writeLines(s, lines, s.c.dim(`${step} | `))).catch(
    (error: unknown) => {
      if (!(error instanceof Failure)) throw error;
      say(s, s.e.dim(`${step} | its log cannot be read: ${error.message}`));
    },
  );
}
