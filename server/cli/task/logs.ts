import type { Schemas } from "../../../openapi/client.ts";
import { printable } from "../../base/colour.ts";
import { EXIT, Failure } from "../output/failure.ts";
import { Progress } from "../output/progress.ts";
import type { Api } from "../session/api.ts";
import type { Session } from "../session/session.ts";
import { say, state } from "../show.ts";
import { type Task, waiting } from "./show.ts";

// The service holds a request for log lines as long; a task that is silent costs four requests a minute.
const LOG_WAIT_SECONDS = 15;
/** A task that no delegate can take says so this soon. */
const FIRST_WAIT_SECONDS = 3;
type Line = Schemas["TaskLog"]["items"][number];

export const getTask = (api: Api, id: string): Promise<Task> => api.call<Task>("getTask", { path: { task: id } });

/** Each line of a task once and in order: the next request starts after the last line that was shown. */
export async function readLines(
  api: Api,
  id: string,
  options: { follow: boolean; silent?: () => Promise<void> },
  show: (lines: Line[]) => void,
): Promise<void> {
  let after = 0;
  for (let first = true; ; first = false) {
    const patience = first ? FIRST_WAIT_SECONDS : LOG_WAIT_SECONDS;
    const query = { after, wait: options.follow ? patience : 0 };
    const page = await api.call<Schemas["TaskLog"]>("getTaskLogs", { path: { task: id }, query });
    if (page.items.length) show(page.items);
    after = page.items.at(-1)?.seq ?? after;
    if (page.complete || (!options.follow && page.items.length === 0)) return;
    if (page.items.length === 0) await options.silent?.();
  }
}

/** Writes a task's lines: standard error where the task wrote to it. */
export function writeLines(s: Session, lines: readonly Line[], prefix = ""): void {
  for (const line of lines) {
    const text = `${prefix}${printable(line.text).replace(/\n?$/, "\n")}`;
    if (line.stream === "stderr") s.io.err.write(text);
    else s.io.out.write(line.stream === "system" ? s.c.dim(text) : text);
  }
}

/** `task logs`: what it wrote; with `follow` until its end, which is then the end of the command too. */
export async function logs(s: Session, id: string, follow: boolean): Promise<void> {
  const api = await s.api();
  const progress = follow ? new Progress(s.io, `task ${id}`) : undefined;
  const silent = async () => progress?.say(waiting(await getTask(api, id)));
  try {
    await readLines(api, id, { follow, silent }, (lines) => {
      progress?.clear();
      writeLines(s, lines);
    });
  } finally {
    progress?.clear();
  }
  if (!follow) return;
  const task = await getTask(api, id);
  if (task.state !== "Succeeded")
    throw new Failure(
      `task ${id} ended as ${task.state}${task.message ? `: ${task.message}` : ""}`,
      task.state === "TimedOut" ? EXIT.timeout : EXIT.failed,
    );
  say(s, `${s.e.green("✓")} task ${id} ${state(task.state, s.e)}`);
}
