import { mkdirSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Logger, pino } from "pino";
import packageJson from "../../package.json" with { type: "json" };
import { type Probes, startProbes } from "../base/probes.ts";
import { FileIdentity } from "../link/identity-file.ts";
import { type Link, startLink } from "../link/link.ts";
import type { Open } from "../link/session.ts";
import { capabilities } from "./kinds/table.ts";
import { lockFolder } from "./lock.ts";
import { makeMetrics } from "./metrics.ts";
import { readSettings, type Settings } from "./settings.ts";
import { runTask } from "./task.ts";
import { CaBundle } from "./task-env.ts";
import { Tasks } from "./worker.ts";
import { Workspaces } from "./workspace.ts";

/** Below this the disk counts as full: a task that cannot even write its script would fail for nothing. */
const MIN_FREE_BYTES = 128 * 1024 * 1024;
const DISK_LOOK_MS = 5_000;
// The service counts a worker that was silent for as long as away; a lease it may just be giving out is void by then.
const SILENT_MS = 15_000;
// After the grace: time to kill what ignores the asking, and to say goodbye.
const KILL_MS = 6_000;

/** `outpost delegate`: runs until the signal and until its tasks have ended. Resolves with the exit code. */
export async function runDelegate(env: NodeJS.ProcessEnv, signal: AbortSignal): Promise<number> {
  const read = readSettings(env);
  if (read.kind !== "done") return refuse(read.message);
  const settings = read.value;
  try {
    mkdirSync(settings.workDir, { recursive: true, mode: 0o700 });
  } catch (error) {
    return refuse(`the work folder ${settings.workDir} cannot be made: ${(error as Error).message}; set OUTPOST_WORK_DIR`);
  }
  const lock = await lockFolder(settings.workDir);
  if (lock.kind !== "done") return refuse(lock.message);
  const log = pino({ level: settings.logLevel, base: { program: "delegate" }, timestamp: pino.stdTimeFunctions.isoTime }, process.stderr);
  try {
    return await work(env, settings, log, signal);
  } finally {
    lock.value();
  }
}

function refuse(message: string): number {
  process.stderr.write(`outpost delegate: ${message}\n`);
  return 1;
}

async function work(env: NodeJS.ProcessEnv, settings: Settings, log: Logger, signal: AbortSignal): Promise<number> {
  const { able, lacking } = await capabilities(env);
  for (const { kind, why } of lacking) log.warn({ kind }, `this delegate cannot run ${kind}: ${why}`);
  // Node does not reap what tasks leave to the first process of a container.
  if (process.pid === 1)
    log.warn({}, "this is process 1: run it below an init (docker run --init, shareProcessNamespace), or ended processes pile up");
  const workspaces = new Workspaces(settings.workDir);
  const left = await workspaces.start();
  if (left) log.warn({ processes: left }, "ended what an earlier delegate in this folder had left running");
  const disk = watchDisk(settings.workDir, log);
  const caBundle = new CaBundle(env.OUTPOST_CA_FILE || undefined, settings.workDir);
  let link!: Link;
  const tasks = new Tasks({
    run: (task, stop) =>
      runTask(task, stop, {
        session: link.session,
        workspaces,
        bounds: settings.bounds,
        env,
        moreEnv: settings.taskEnv,
        caBundle: () => caBundle.path(),
        log,
      }),
    leasesChanged: () => link.leasesChanged(),
    hasRoom: () => !disk.full,
    ended: (...ended) => metrics.ended(...ended),
    log,
  });
  const alive = () => (link?.sinceBeat() ?? Number.POSITIVE_INFINITY) < SILENT_MS;
  const metrics = makeMetrics({
    running: () => tasks.size,
    capacity: () => link?.session.open?.capacity ?? 0,
    connected: alive,
    sinceBeat: () => link?.sinceBeat(),
  });
  let probes: Probes;
  try {
    const ready = () => alive() && !tasks.draining() && !disk.full;
    probes = await startProbes({ listen: settings.listen, ready, metrics: metrics.text });
  } catch (error) {
    disk.stop();
    return refuse(`cannot listen on ${settings.listen}: ${(error as Error).message}; set OUTPOST_LISTEN to another port`);
  }
  const stop = new AbortController();
  let compared = false;
  link = startLink({
    endpoint: settings.endpoint,
    env,
    kind: "delegate",
    store: new FileIdentity(join(settings.workDir, "identity.json")),
    instance: settings.instance,
    version: packageJson.version,
    capabilities: () => able,
    worker: tasks,
    leases: tasks.leases,
    lost: (leases, why) => tasks.lost(leases, why),
    heartbeatThread: true,
    opened: (open) => {
      if (!compared) compare(open, settings, log);
      compared = true;
    },
    log,
    signal: stop.signal,
  });
  log.info({ endpoint: settings.endpoint, instance: settings.instance, capabilities: able, port: probes.port }, "the delegate has started");
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
  await drain(tasks, link, settings.graceMs, log);
  stop.abort();
  await link.done;
  await probes.stop();
  disk.stop();
  log.info({}, "stopped");
  return 0;
}

/** Takes nothing new, lets what runs end, and leaves at the latest when the grace is over. Heartbeats go on all the while. */
async function drain(tasks: Tasks, link: Link, graceMs: number, log: Logger): Promise<void> {
  const over = new AbortController();
  const grace = sleep(graceMs, "over" as const, { signal: over.signal }).catch(() => "over" as const);
  log.info({ running: tasks.size, graceSeconds: graceMs / 1_000 }, "draining: no new tasks; those that run may end");
  const drained = tasks.drain();
  if (link.session.open) {
    // The poll under way still asks for tasks. This tells the service at once; it then lets the poll return.
    const body = { wait: 0, free: 0, draining: true };
    void link.session.call("/v1/worker/exchange", { body, deadlineMs: SILENT_MS });
    await Promise.race([drained, grace, sleep(SILENT_MS, undefined, { signal: over.signal }).catch(() => undefined)]);
  }
  const ended = await Promise.race([tasks.idle(), grace]);
  if (ended === "over") {
    tasks.leave();
    await Promise.race([tasks.idle(), sleep(KILL_MS, undefined, { signal: over.signal }).catch(() => undefined)]);
  }
  over.abort();
}

/** The token decides who this is; what the environment says beside it is compared, so that a mix-up is seen. */
function compare({ identity: { enrolment } }: Open, { name, account }: Settings, log: Logger): void {
  if (name !== undefined && name !== enrolment.id)
    log.warn({ name, id: enrolment.id }, "DELEGATE_NAME is not the delegate whose token this is; the token decides");
  if (account !== undefined && account !== enrolment.account)
    log.warn({ account, is: enrolment.account }, "ACCOUNT_ID is not the account whose token this is; the token decides");
}

/** Looks now and then whether the work folder's disk has room. */
function watchDisk(dir: string, log: Logger): { readonly full: boolean; stop(): void } {
  let full = false;
  const look = async () => {
    const { bavail, bsize } = await statfs(dir);
    const now = bavail * bsize < MIN_FREE_BYTES;
    if (now !== full) log[now ? "error" : "info"]({ dir }, now ? "the disk is full: no new tasks are taken" : "the disk has room again");
    full = now;
  };
  const timer = setInterval(() => void look().catch(() => undefined), DISK_LOOK_MS);
  void look().catch(() => undefined);
  return {
    get full() {
      return full;
    },
    stop: () => clearInterval(timer),
  };
}
