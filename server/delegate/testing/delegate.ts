import type { Schemas } from "../../../openapi/client.ts";
import type { TestService } from "../../control/testing/service.ts";
import { runDelegate } from "../main.ts";
import { until } from "./temporary.ts";

type Task = Schemas["Task"];
const ENDED = ["Succeeded", "Failed", "Cancelled", "Unknown", "TimedOut"];

/** Makes a delegate in the service and gives an enrolment token for it. */
export async function makeDelegate(
  service: TestService,
  id: string,
  spec: Partial<Schemas["DelegateSpec"]> = {},
): Promise<{ token: string; tokenId: string }> {
  const made = await service.ask("PUT", `/v1/delegates/${id}`, { body: { spec } });
  if (made.status >= 300) throw new Error(made.text);
  const { status, body, text } = await service.ask("POST", `/v1/delegates/${id}/tokens`, { body: {} });
  if (status !== 201) throw new Error(text);
  return { token: body.token, tokenId: body.id };
}

export interface LocalDelegate {
  /** Asks it to leave; gives its exit code. */
  stop(): Promise<number>;
}

/** A delegate in this process; resolves when the service sees it. */
export async function startDelegate(
  service: TestService,
  options: { id: string; token: string; workDir: string; env?: NodeJS.ProcessEnv },
): Promise<LocalDelegate> {
  const { id, token, workDir, env } = options;
  const stop = new AbortController();
  const own = {
    OUTPOST_ENDPOINT: service.url,
    DELEGATE_TOKEN: token,
    OUTPOST_WORK_DIR: workDir,
    OUTPOST_LISTEN: "127.0.0.1:0",
    OUTPOST_LOG_LEVEL: "silent",
    // The routing of the machine that runs the tests is not theirs to change.
    OUTPOST_ALLOW_METADATA: "true",
  };
  const running = runDelegate({ PATH: process.env.PATH, ...own, ...env }, stop.signal);
  await until(
    `delegate ${id} is connected`,
    async () => (await service.ask("GET", `/v1/delegates/${id}`)).body.status.connected,
  );
  return {
    stop: () => {
      stop.abort();
      return running;
    },
  };
}

export async function createTask(
  service: TestService,
  body: Partial<Schemas["TaskRequest"]> & Pick<Schemas["TaskRequest"], "params">,
): Promise<string> {
  const made = await service.ask("POST", "/v1/tasks", { body: { kind: "shell.run", ...body } });
  if (made.status !== 201) throw new Error(made.text);
  return made.body.id;
}

export const getTask = async (service: TestService, id: string): Promise<Task> =>
  (await service.ask("GET", `/v1/tasks/${id}`)).body;

/** The task when it has ended, or is in that state. */
export function waitTask(service: TestService, id: string, state?: Task["state"], ms = 0): Promise<Task> {
  return until(
    `task ${id} is ${state ?? "at its end"}`,
    async () => {
      const task = await getTask(service, id);
      return (state ? task.state === state : ENDED.includes(task.state)) && task;
    },
    ms,
  );
}

/** All lines of an ended task, and whether the service says that these are all. */
export async function logsOf(
  service: TestService,
  id: string,
): Promise<{ lines: { seq: number; stream?: string; text: string }[]; complete: boolean }> {
  const lines: { seq: number; stream?: string; text: string }[] = [];
  for (;;) {
    const { body } = await service.ask("GET", `/v1/tasks/${id}/logs?after=${lines.at(-1)?.seq ?? 0}`);
    lines.push(...body.items);
    if (body.complete || body.items.length === 0) return { lines, complete: body.complete };
  }
}
