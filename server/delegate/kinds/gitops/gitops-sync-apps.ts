import { setTimeout as sleep } from "node:timers/promises";
import type { Schemas } from "../../../../openapi/client.ts";
import { validateTaskParamsGitopsSyncApps } from "../../../../openapi/contract/validators.js";
import { failed, type TaskContext, type TaskKindHandler } from "../../kind.ts";
import { type Application, findApplications } from "./find-applications.ts";

const POLL_MS = 1_000;

interface Watched {
  id: string;
  state: "Waiting" | "Synced" | "Failed";
  message: string;
  /** Since when it is Degraded. */
  degraded?: number | undefined;
  /** The operation that was asked for: the end of another one says nothing of it. */
  operation: string | undefined;
  /** The agent has begun with it; until then the application shows the operation before. */
  begun?: boolean;
}

/** Syncs applications side by side and waits for each. What one does is no reason to leave the others. */
export const gitopsSyncApps: TaskKindHandler<Schemas["TaskParamsGitopsSyncApps"]> = {
  validate: validateTaskParamsGitopsSyncApps,

  lacks: async () => undefined,

  async run({ filter, wait = true, degradedSeconds = 120, prune, dryRun, revision }, context) {
    const found = await findApplications(context, filter);
    if (found.kind !== "done") return failed(found.reason, found.message);
    if (found.value.length === 0) return failed("NoApplications", "no application of the task's scope fits the filter");
    const body = {
      ...(prune === undefined ? {} : { prune }),
      ...(dryRun === undefined ? {} : { dryRun }),
      ...(revision === undefined ? {} : { revision }),
    };
    const watched: Watched[] = [];
    for (const { id } of found.value) {
      const asked = await context.api<Application>("syncApplication", { path: { id }, body });
      if (asked.kind === "done")
        watched.push({ id, state: "Waiting", message: "sync asked for", operation: asked.value.status.operation?.id });
      else watched.push({ id, state: "Failed", message: asked.message, operation: undefined });
      await context.write(asked.kind === "done" ? "stdout" : "stderr", `${id}: ${watched.at(-1)!.message}`);
    }
    // A dry run changes nothing, so there is nothing to become healthy.
    if (wait && !dryRun) await follow(context, watched, degradedSeconds);
    const applications = watched.map(({ id, state, message }) => ({
      id,
      state: state === "Waiting" ? "Asked" : state,
      message,
    }));
    const outputs = { applications, ids: applications.map(({ id }) => id) };
    const bad = watched.filter(({ state }) => state === "Failed");
    if (bad.length === 0) return { outcome: "succeeded", outputs };
    const first = bad.slice(0, 5).map(({ id, message }) => `${id}: ${message}`);
    return failed("SyncFailed", `${bad.length} of ${watched.length} applications: ${first.join("; ")}`, outputs);
  },
};

async function follow(context: TaskContext, watched: Watched[], degradedSeconds: number): Promise<void> {
  while (!context.signal.aborted) {
    const open = watched.filter(({ state }) => state === "Waiting");
    if (open.length === 0) return;
    for (const one of open) {
      const got = await context.api<Application>("getApplication", { path: { id: one.id } });
      if (got.kind === "stop") settle(one, "Failed", got.message);
      if (got.kind !== "done") continue;
      const said = one.message;
      judge(one, got.value, degradedSeconds);
      if (one.message !== said)
        await context.write(one.state === "Failed" ? "stderr" : "stdout", `${one.id}: ${one.message}`);
    }
    await sleep(POLL_MS, undefined, { signal: context.signal }).catch(() => undefined);
  }
}

/** Synced and Healthy after our operation is the end; its failure, or being Degraded for too long, is the other one. */
function judge(one: Watched, { status }: Application, degradedSeconds: number): void {
  const { operation, sync, health } = status;
  const phase = operation?.id === one.operation ? operation?.phase : undefined;
  const healthMessage = health?.message ? `: ${health.message}` : "";
  if (health?.status !== "Degraded") one.degraded = undefined;
  else one.degraded ??= Date.now();
  const degradedFor = one.degraded === undefined ? 0 : Date.now() - one.degraded;
  if (phase) one.begun = true;
  if (!phase && one.begun) settle(one, "Failed", "another sync took the place of this one before it had ended");
  else if (!phase || phase === "Pending") one.message = "waiting for the agent to begin";
  else if (phase === "Running" || phase === "Terminating") one.message = `syncing: ${operation?.message ?? ""}`;
  else if (phase !== "Succeeded") settle(one, "Failed", `sync ${phase}: ${operation?.message ?? "without a message"}`);
  else if (sync?.status === "Synced" && health?.status === "Healthy") settle(one, "Synced", "Synced and Healthy");
  else if (degradedSeconds > 0 && degradedFor >= degradedSeconds * 1_000)
    settle(one, "Failed", `Degraded for ${degradedSeconds} s${healthMessage}`);
  else one.message = `${sync?.status ?? "Unknown"}, ${health?.status ?? "Unknown"}${healthMessage}`;
}

function settle(one: Watched, state: Watched["state"], message: string): void {
  one.state = state;
  one.message = message;
}
