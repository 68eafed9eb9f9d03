import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { basename } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { type Command, Option } from "commander";
import type { Schemas } from "../../../openapi/client.ts";
import { pause } from "../../base/process/pause.ts";
import { readEvents } from "../output/events.ts";
import { EXIT, Failure, usage } from "../output/failure.ts";
import type { Io } from "../output/io.ts";
import { type Api, MAX_WAIT_MS } from "../session/api.ts";
import { type Session, verb } from "../session/session.ts";
import { field, type Json, rowsOf, say, show, showAs } from "../show.ts";
import { KINDS } from "./kinds.ts";
import { getTask, logs } from "./logs.ts";
import { queued, runVerbs } from "./run.ts";
import { artifactTable, describeTask, ENDED, type Task, taskColumns } from "./show.ts";

interface ListFlags {
  limit: string;
  state?: string;
  kind?: string;
}
const STATES = ["Queued", "Running", ...ENDED];
/** Queued tasks of a list that are asked for their reason. */
const MOST_ASKED = 20;
const WATCH_SECONDS = 300;
const PAUSE_MS = 1_000;

/** `outpost task …`: what delegates are asked to do. */
export function taskVerbs(root: Command, io: Io): void {
  const task = root.command("task").summary("tasks, which delegates carry out");
  runVerbs(task, io);
  task
    .command("list")
    .alias("ls")
    .summary("list tasks, newest first")
    .addOption(new Option("--state <state>", "only these").choices(STATES))
    .addOption(new Option("--kind <kind>", "only these").choices(KINDS.map((k) => k.name)))
    .option("--limit <n>", "at most so many", "50")
    .action(verb(io, list));
  task
    .command("get <id>")
    .summary("show one")
    .action(
      verb(io, async (s, id: string) => {
        const got = await getTask(await s.api(), id);
        if (s.format === "name" || s.format === "wide") show(s, [got], taskColumns);
        else showAs(s, got, () => describeTask(got, s));
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
  task
    .command("retry <id>")
    .summary("queue one that has ended once more, as a new task")
    .option("-f, --follow", "show its output and wait for its end; exits 1 unless it succeeds")
    .action(
      verb(io, async (s, id: string, given: { follow?: boolean }) => {
        const headers = { "idempotency-key": crypto.randomUUID() };
        await queued(
          s,
          await (await s.api()).call<Task>("retryTask", { path: { task: id }, headers }),
          given.follow === true,
        );
      }),
    );
  task.command("watch").summary("show tasks as they change, until Ctrl-C").action(verb(io, watch));
  artifactVerbs(task, io);
}

function artifactVerbs(task: Command, io: Io): void {
  const artifact = task.command("artifact").summary("files that tasks have left");
  artifact
    .command("list <task>")
    .alias("ls")
    .summary("list a task's files")
    .action(
      verb(io, async (s, id: string) => {
        const { artifacts: items = [] } = await getTask(await s.api(), id);
        if (s.format === "name") for (const one of items) s.io.out.write(`${one.name}\n`);
        else if (items.length === 0 && s.format !== "json" && s.format !== "yaml")
          say(s, s.e.dim("it has left no files"));
        else showAs(s, { items }, () => artifactTable(items, s));
      }),
    );
  artifact
    .command("get <task> <name>")
    .summary("download a file")
    .option("--to <file>", "where to put it; `-` for standard output (default: its name, in this folder)")
    .action(
      verb(io, async (s, id: string, name: string, given: { to?: string }) =>
        download(s, id, name, given.to ?? basename(name)),
      ),
    );
}

/** Downloads a file and checks it; a file that is there is replaced only by a whole one. */
async function download(s: Session, id: string, name: string, to: string): Promise<void> {
  const answer = await (await s.api()).send(
    "getTaskArtifact",
    { path: { task: id, name }, headers: { accept: "application/octet-stream" } },
    AbortSignal.timeout(MAX_WAIT_MS),
  );
  const hash = createHash("sha256");
  const bytes = (async function* () {
    for await (const part of answer.body as unknown as AsyncIterable<Uint8Array>) {
      hash.update(part);
      yield part;
    }
  })();
  const want = /^"?([0-9a-f]{64})"?$/.exec(answer.headers.get("etag") ?? "")?.[1];
  const check = () => {
    if (want !== undefined && hash.digest("hex") !== want) throw new Failure(`${name} arrived damaged; try again`);
  };
  if (to === "-") {
    for await (const part of bytes) s.io.out.write(part);
    return check();
  }
  const part = `${to}.part-${process.pid}`;
  try {
    await pipeline(Readable.from(bytes), createWriteStream(part));
    check();
    await rename(part, to);
  } catch (error) {
    await rm(part, { force: true });
    if (error instanceof Failure) throw error;
    throw new Failure(`${to} cannot be written: ${(error as Error).message}`);
  }
  say(s, `${s.e.green("✓")} ${to}`);
}

async function list(s: Session, flags: ListFlags): Promise<void> {
  const limit = Number(flags.limit);
  if (!(limit >= 1)) throw usage(`--limit takes a number from 1, not ${JSON.stringify(flags.limit)}`);
  const api = await s.api();
  const items: Task[] = [];
  let cursor: string | undefined;
  do {
    const query = { cursor, limit: Math.min(500, limit - items.length), state: flags.state, kind: flags.kind };
    const page = await api.call<Schemas["TaskList"]>("listTasks", { query });
    items.push(...page.items);
    cursor = page.nextCursor;
  } while (cursor && items.length < limit);
  const shown = s.format === "table" || s.format === "wide" ? await withReasons(api, items) : items;
  show(s, shown, taskColumns, { empty: "no tasks" });
}

/** A list does not say why tasks wait; for the first of them it is asked. */
async function withReasons(api: Api, tasks: Task[]): Promise<Task[]> {
  const queued = tasks.filter(({ state }) => state === "Queued").slice(0, MOST_ASKED);
  const asked = new Map(await Promise.all(queued.map(async ({ id }) => [id, await getTask(api, id)] as const)));
  return tasks.map((task) => asked.get(task.id) ?? task);
}

async function watch(s: Session): Promise<void> {
  const api = await s.api();
  let heads = true;
  const seen = new Map<string, string>();
  for await (const task of changes(api, s.io.signal)) {
    // After a lost connection the service sends all open tasks again.
    const text = JSON.stringify({ ...task, explanation: undefined });
    if (seen.get(String(task.id)) === text) continue;
    if (ENDED.has(String(task.state))) seen.delete(String(task.id));
    else seen.set(String(task.id), text);
    if (s.format === "json" || s.format === "yaml") s.io.out.write(`${JSON.stringify(task)}\n`);
    else if (s.format === "name") s.io.out.write(`${field(task, "id")} ${field(task, "state")}\n`);
    else {
      s.io.out.write(`${rowsOf(s, [task], taskColumns, heads)}\n`);
      heads = false;
    }
  }
}

/** Each task that changes, across lost connections, until the signal. */
async function* changes(api: Api, signal: AbortSignal): AsyncGenerator<Json> {
  while (!signal.aborted) {
    try {
      const args = { query: { timeoutSeconds: WATCH_SECONDS }, headers: { accept: "text/event-stream" } };
      const answer = await api.send("watchTasks", args, signal);
      for await (const event of readEvents(answer.body as unknown as AsyncIterable<Uint8Array>))
        if (event.event === "put") yield JSON.parse(event.data) as Json;
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Failure && error.exit !== EXIT.unreachable && error.exit !== EXIT.timeout) throw error;
    }
    await pause(PAUSE_MS, signal);
  }
}
