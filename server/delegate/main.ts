import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Logger, pino } from "pino";
import packageJson from "../../package.json" with { type: "json" };
import { plainHttpWarning } from "../base/cloud/plain-http.ts";
import { type Probes, startProbes } from "../base/process/probes.ts";
import { FileIdentity } from "../link/identity/identity-file.ts";
import { type Link, startLink } from "../link/link.ts";
import type { Open } from "../link/session.ts";
import { readConfig } from "./config/file.ts";
import { lockFolder } from "./config/lock.ts";
import { readSettings, type Settings, withProxy } from "./config/settings.ts";
import { makeMetrics } from "./metrics.ts";
import { type Given, type Prepared, prepare } from "./prepare.ts";
import { lastResort } from "./process/last-resort.ts";
import { forbidCoreDumps } from "./sandbox/core-dumps.ts";
import { credentialFiles, readSources } from "./secrets/config.ts";
import { SecretScopes } from "./secrets/scopes.ts";
import { Secrets } from "./secrets/secrets.ts";
import { secretSources } from "./secrets/sources.ts";
import { runTask } from "./task/task.ts";
import { Tasks } from "./task/worker.ts";

// The service counts a worker that was silent for as long as away; a lease it may just be giving out is void by then.
const SILENT_MS = 15_000;
// After the grace: time to kill what ignores the asking, and to say goodbye.
const KILL_MS = 6_000;

/** `outpost delegate`: runs until the signal and until its tasks have ended. Resolves with the exit code. */
export async function runDelegate(given: NodeJS.ProcessEnv, signal: AbortSignal): Promise<number> {
  const config = readConfig(given);
  if (config.kind !== "done") return refuse(config.message);
  const env = withProxy(config.value.env);
  const read = readSettings(env);
  if (read.kind !== "done") return refuse(read.message);
  const settings = read.value;
  const sources = readSources(config.value.sources);
  if (sources.kind !== "done") return refuse(`${config.value.path}: ${sources.message}`);
  const secrets = new Secrets(secretSources({ env, sources: sources.value.sources }));
  const scopes = new SecretScopes(sources.value.scopes);
  // A kubeconfig may be a source's and the tasks' too.
  const shared = new Set(settings.taskEnv.map((name) => env[name]));
  const closed = credentialFiles(sources.value.sources).filter((path) => !shared.has(path));
  try {
    mkdirSync(settings.workDir, { recursive: true, mode: 0o700 });
  } catch (error) {
    return refuse(
      `the work folder ${settings.workDir} cannot be made: ${(error as Error).message}; set OUTPOST_WORK_DIR`,
    );
  }
  const lock = await lockFolder(settings.workDir);
  if (lock.kind !== "done") return refuse(lock.message);
  const log = pino(
    { level: settings.logLevel, base: { program: "delegate" }, timestamp: pino.stdTimeFunctions.isoTime },
    process.stderr,
  );
  if (!forbidCoreDumps())
    log.warn({}, "core dumps of the delegate could not be forbidden: it needs the program prlimit (util-linux)");
  const takeBack = lastResort(log);
  try {
    return await work(settings, { env, secrets, scopes, closed, log }, signal);
  } finally {
    takeBack();
    lock.value();
  }
}

function refuse(message: string): number {
  process.stderr.write(`outpost delegate: ${message}\n`);
  return 1;
}

/** Prepares, runs until the signal, and lets what runs end. */
async function work(settings: Settings, given: Given, signal: AbortSignal): Promise<number> {
  const { env, log, scopes } = given;
  const prepared = await prepare(settings, given, signal);
  if (prepared.kind !== "done") return signal.aborted ? 0 : refuse(prepared.message);
  const { able, lacking, resources } = prepared.value;
  const running = run(settings, given, prepared.value);
  const { tasks, metrics, connect } = running;
  let probes: Probes;
  try {
    const ready = () => running.alive() && !tasks.draining() && !resources.full;
    probes = await startProbes({ listen: settings.listen, ready, metrics: metrics.text });
  } catch (error) {
    resources.stop();
    return refuse(
      `cannot listen on ${settings.listen}: ${(error as Error).message}; set OUTPOST_LISTEN to another port`,
    );
  }
  const stop = new AbortController();
  let compared = false;
  const link = connect({
    endpoint: settings.endpoint,
    env,
    kind: "delegate",
    store: new FileIdentity(join(settings.workDir, "identity.json")),
    instance: settings.instance,
    version: packageJson.version,
    facts: () => ({ capabilities: able, lacking: lacking.map(short), tags: settings.tags, type: settings.type }),
    worker: tasks,
    leases: tasks.leases,
    lost: (leases, why) => tasks.lost(leases, why),
    heartbeatThread: true,
    opened: (open) => {
      const { account, org, project } = open.identity.enrolment;
      scopes.own = { account, ...(org ? { org } : {}), ...(project ? { project } : {}) };
      if (!compared) compare(open, settings, log);
      compared = true;
    },
    log,
    signal: stop.signal,
  });
  const plain = plainHttpWarning(settings.endpoint, env);
  if (plain) log.warn({ endpoint: settings.endpoint }, plain);
  log.info(
    { endpoint: settings.endpoint, instance: settings.instance, capabilities: able, port: probes.port },
    "the delegate has started",
  );
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
  await drain(tasks, link, settings.graceMs, log);
  stop.abort();
  await link.done;
  await probes.stop();
  resources.stop();
  log.info({}, "stopped");
  return 0;
}

/** The tasks and their figures. They need the link, and it needs them: until it is connected nothing arrives. */
function run(settings: Settings, given: Given, { resources, ...prepared }: Prepared) {
  let link: Link | undefined;
  const tasks = new Tasks({
    // A task arrives over the link, so the link exists.
    run: (task, stop) =>
      runTask(task, stop, {
        ...given,
        ...prepared,
        session: link!.session,
        bounds: settings.bounds,
        moreEnv: settings.taskEnv,
      }),
    leasesChanged: () => link?.leasesChanged(),
    capacity: settings.capacity,
    headroom: () => resources.now,
    ended: (...ended) => metrics.ended(...ended),
    log: given.log,
  });
  const alive = () => (link?.sinceBeat() ?? Number.POSITIVE_INFINITY) < SILENT_MS;
  const metrics = makeMetrics({
    running: () => tasks.size,
    capacity: () => Math.min(link?.session.open?.capacity ?? 0, settings.capacity ?? Number.POSITIVE_INFINITY),
    connected: alive,
    sinceBeat: () => link?.sinceBeat(),
    headroom: () => resources.now,
    sandbox: prepared.sandbox,
  });
  const connect = (options: Parameters<typeof startLink>[0]): Link => {
    link = startLink(options);
    return link;
  };
  return { tasks, metrics, alive, connect };
}

/** Takes no new task, lets running ones end, and exits at the latest when the grace period is over. Heartbeats continue meanwhile. */
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
    log.warn(
      { account, is: enrolment.account },
      "ACCOUNT_ID is not the account whose token this is; the token decides",
    );
}

// The contract's length; the log has the whole reason.
const short = ({ kind, why }: { kind: string; why: string }) => ({
  kind,
  why: why.length > 256 ? `${why.slice(0, 255)}…` : why,
});
