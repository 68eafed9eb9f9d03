import { type Command, Option } from "commander";
import type { Schemas } from "../../openapi/client.ts";
import { printable } from "../base/colour.ts";
import { showAge, showDuration } from "../base/duration.ts";
import { pairs, table } from "../base/table.ts";
import type { Api } from "./api.ts";
import { EXIT, Failure, usage } from "./failure.ts";
import { addFlags, type Flag, flagsOf, objectOf } from "./flags.ts";
import { type Io, readInput } from "./io.ts";
import { Progress } from "./progress.ts";
import { type Session, verb } from "./session.ts";
import { field, type Json, plainColumn, say, show, showAs, state, stateColumn } from "./show.ts";

type Task = Schemas["Task"];
const KINDS: Record<string, { schema: string; flags: Flag[] }> = {
  "git.clone": { schema: "TaskParamsGitClone", flags: flagsOf("TaskParamsGitClone") },
  "shell.run": { schema: "TaskParamsShellRun", flags: flagsOf("TaskParamsShellRun") },
};
const COMMON = flagsOf("TaskRequest").filter((f) => !["kind", "params"].includes(f.path[0]!));
const ENDED = new Set(["Succeeded", "Failed", "Cancelled", "Unknown", "TimedOut"]);
// The service holds a request for log lines as long; a task that is silent costs four requests a minute.
const LOG_WAIT_SECONDS = 15;

const columns = [
  { head: "ID", text: (o: Json, c: Session["c"]) => c.bold(field(o, "id")) },
  plainColumn("KIND", "kind"),
  stateColumn("STATE", "state"),
  { head: "AGE", text: (o: Json) => showAge(o.createdAt) },
  {
    head: "TOOK",
    text: (o: Json) => (o.startedAt ? showDuration(Date.parse(o.endedAt ?? new Date().toISOString()) - Date.parse(o.startedAt)) : "-"),
  },
  { head: "WORKER", text: (o: Json) => field(o.attempts?.at(-1) ?? {}, "worker") },
  plainColumn("SELECTORS", "selectors", true),
  { head: "MESSAGE", text: (o: Json) => field(o, "message") },
];

/** `outpost task …`: what delegates are asked to do. */
export function taskVerbs(root: Command, io: Io): void {
  const task = root.command("task").summary("tasks, which delegates carry out");
  const run = task.command("run").summary("queue a task");
  for (const [kind, { flags }] of Object.entries(KINDS)) {
    const command = addFlags(run.command(kind).summary(`queue a ${kind}`), [...flags, ...COMMON])
      .option("-f, --follow", "show its output and wait for its end; exits 1 unless it succeeds")
      .action(verb(io, async (s, given: Json) => start(s, kind, given)));
    if (kind === "shell.run")
      command.addOption(new Option("--script-file <file>", "the script, `-` for standard input").conflicts("script"));
  }
  task
    .command("list")
    .alias("ls")
    .summary("list tasks, newest first")
    .option("--limit <n>", "at most so many", "50")
    .action(verb(io, list));
  task
    .command("get <id>")
    .summary("show one")
    .action(
      verb(io, async (s, id: string) => {
        const got = await get(await s.api(), id);
        if (s.format === "name" || s.format === "wide") show(s, [got], columns);
        else showAs(s, got, () => describe(got, s));
      }),
    );
  task
    .command("logs <id>")
    .summary("what it wrote")
    .option("-f, --follow", "until it ends; exits 1 unless it succeeds")
    .action(verb(io, async (s, id: string, given: { follow?: boolean }) => logs(s, id, given.follow === true)));
  task
    .command("cancel <id>")
    .summary("end it and its processes")
    .action(
      verb(io, async (s, id: string) => {
        await (await s.api()).call("cancelTask", { path: { task: id } });
        say(s, `${s.e.green("✓")} task ${s.e.bold(id)} is being cancelled`);
      }),
    );
}

const get = (api: Api, id: string): Promise<Task> => api.call<Task>("getTask", { path: { task: id } });

async function start(s: Session, kind: string, given: Json): Promise<void> {
  const params = await objectOf(s.io, KINDS[kind]!.flags, given);
  if (given.scriptFile) params.script = await readInput(s.io, given.scriptFile);
  if (kind === "shell.run" && params.script === undefined) throw usage("--script TEXT or --script-file FILE is missing");
  if (kind === "git.clone" && params.url === undefined) throw usage("--url is missing");
  const body = { kind, params, ...(await objectOf(s.io, COMMON, given)) };
  const task = await (await s.api()).call<Task>("createTask", { body, headers: { "idempotency-key": crypto.randomUUID() } });
  if (given.follow) {
    if (s.format === "table") say(s, s.e.dim(`task ${task.id}`));
    return logs(s, task.id, true);
  }
  if (s.format === "table" || s.format === "wide") {
    say(s, `${s.e.green("✓")} task queued; outpost task logs -f ${task.id}`);
    s.io.out.write(`${task.id}\n`);
  } else show(s, [task], columns, { one: true });
}

async function list(s: Session, flags: { limit: string }): Promise<void> {
  const limit = Number(flags.limit);
  if (!(limit >= 1)) throw usage(`--limit takes a number from 1, not ${JSON.stringify(flags.limit)}`);
  const api = await s.api();
  const items: Task[] = [];
  let cursor: string | undefined;
  do {
    const page = await api.call<Schemas["TaskList"]>("listTasks", { query: { cursor, limit: Math.min(500, limit - items.length) } });
    items.push(...page.items);
    cursor = page.nextCursor;
  } while (cursor && items.length < limit);
  show(s, items, columns, { empty: "no tasks" });
}

/** Each line once and in order: the next request starts after the last line that was shown. */
async function logs(s: Session, id: string, follow: boolean): Promise<void> {
  const api = await s.api();
  const progress = follow ? new Progress(s.io, `task ${id}`) : undefined;
  let after = 0;
  try {
    for (;;) {
      const page = await api.call<Schemas["TaskLog"]>("getTaskLogs", {
        path: { task: id },
        query: { after, wait: follow ? LOG_WAIT_SECONDS : 0 },
      });
      if (page.items.length) progress?.clear();
      for (const line of page.items) {
        const text = printable(line.text).replace(/\n?$/, "\n");
        if (line.stream === "stderr") s.io.err.write(text);
        else s.io.out.write(line.stream === "system" ? s.c.dim(text) : text);
        after = line.seq;
      }
      if (page.complete || (!follow && page.items.length === 0)) break;
      if (follow && page.items.length === 0) progress?.say(waiting(await get(api, id)));
    }
  } finally {
    progress?.clear();
  }
  if (!follow) return;
  const task = await get(api, id);
  if (task.state !== "Succeeded")
    throw new Failure(
      `task ${id} ended as ${task.state}${task.message ? `: ${task.message}` : ""}`,
      task.state === "TimedOut" ? EXIT.timeout : EXIT.failed,
    );
  say(s, `${s.e.green("✓")} task ${id} ${state(task.state, s.e)}`);
}

function waiting(task: Task): string {
  if (ENDED.has(task.state)) return task.state;
  if (task.state !== "Queued") return `running on ${task.attempts.at(-1)?.worker ?? "a delegate"}`;
  return `queued: ${task.explanation?.map((e) => `${e.worker} ${e.reason}`).join(", ") || "waiting for a delegate"}`;
}

function describe(task: Task, s: Session): string {
  const blocks = [
    pairs([
      ["id", s.c.bold(task.id)],
      ["kind", task.kind],
      ["state", state(task.state, s.c)],
      ...(task.reason ? [["reason", printable(task.reason)] as [string, string]] : []),
      ...(task.message ? [["message", printable(task.message)] as [string, string]] : []),
      ["selectors", field(task as Json, "selectors") || "any"],
      ["created", `${task.createdAt} (${showAge(task.createdAt)} ago)`],
    ]),
  ];
  if (task.attempts.length)
    blocks.push(
      table(
        ["ATTEMPT", "WORKER", "STARTED", "ENDED", "REASON"].map(s.c.bold),
        task.attempts.map((a) => [String(a.number), printable(a.worker), a.startedAt, a.endedAt ?? "-", field(a as Json, "reason") || "-"]),
      ),
    );
  if (task.state === "Queued" && task.explanation?.length)
    blocks.push(
      table(
        ["WORKER", "WHY NOT"].map(s.c.bold),
        task.explanation.map((e) => [printable(e.worker), printable(e.reason)]),
      ),
    );
  if (task.outputs && Object.keys(task.outputs).length)
    blocks.push(
      `${s.c.bold("Outputs")}\n${pairs(Object.entries(task.outputs).map(([k, v]) => [printable(k), printable(typeof v === "string" ? v : JSON.stringify(v))]))}`,
    );
  return blocks.join("\n\n");
}
