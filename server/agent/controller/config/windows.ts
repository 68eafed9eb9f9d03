import { allowedFrom } from "../../project/next.ts";
import { chainOf } from "../../project/project.ts";
import { judgeWindows, type SyncWindow } from "../../project/window.ts";
import type { Application, OperationState } from "../application.ts";
import type { Destination } from "../destination.ts";
import type { Projects } from "../projects.ts";

// There is no known end of the wait; the project may change, and a change is noticed at once.
const LOOK_AGAIN_MS = 3_600_000;

export interface HeldBack {
  message: string;
  afterMs: number;
}

interface Where {
  deps: { projects: Projects; now(): number };
  app: Application;
  destination: Destination;
}

interface Sync {
  /** Begun by the policy, not by a person. */
  automated: boolean;
  running?: OperationState;
}

/**
 * The sync window of the project that holds a sync back now, and until when; undefined when it may run. An operation that runs already
 * may continue where its windows allow to overrun.
 */
export function heldBack({ deps, app, destination }: Where, sync: Sync): HeldBack | undefined {
  const project = deps.projects.of(app);
  if (project.kind !== "done") return undefined;
  const { server, name } = destination;
  const moment = { now: () => deps.now(), app, destination: { server, name } };
  // Each project in the chain has its own windows: an open window in one project does not open those of another.
  const held = chainOf(project.value).flatMap(({ syncWindows }) => heldBackBy(syncWindows ?? [], moment, sync) ?? []);
  return held.sort((a, b) => b.afterMs - a.afterMs)[0];
}

interface Moment {
  now(): number;
  app: Application;
  destination: Pick<Destination, "server" | "name">;
}

function heldBackBy(
  windows: readonly SyncWindow[],
  { now, app, destination: { server, name } }: Moment,
  { automated, running }: Sync,
): HeldBack | undefined {
  if (!windows.length) return undefined;
  const windowed = {
    name: app.metadata.name,
    namespace: app.spec.destination.namespace ?? "",
    server,
    clusterName: name,
  };
  const verdict = judgeWindows(windows, windowed, now(), running ? Date.parse(running.startedAt) : undefined);
  if (typeof verdict === "string")
    return { message: `Sync operation blocked by sync window: ${verdict}`, afterMs: LOOK_AGAIN_MS };
  if (verdict.canSyncAuto || (!automated && verdict.canSyncManual)) return undefined;
  const [first] = verdict.blocking;
  const from = allowedFrom(windows, windowed, now(), !automated);
  const named = first
    ? ` (${first.kind} "${first.schedule}" for ${first.duration}${first.description ? `: ${first.description}` : ""}${verdict.blocking.length > 1 ? `, and ${verdict.blocking.length - 1} more` : ""})`
    : "";
  const when = from === undefined ? "" : `; it may run from ${new Date(from).toISOString().replace(/\.\d+/, "")}`;
  const wait = from === undefined ? LOOK_AGAIN_MS : from - now() + 1;
  return { message: `Sync operation blocked by sync window${named}${when}`, afterMs: Math.min(wait, LOOK_AGAIN_MS) };
}
