import { hostname } from "node:os";
import { done, type Outcome, stop } from "../../base/outcome.ts";
import { pause } from "../../base/process/pause.ts";
import { Secret } from "../../base/secret.ts";
import type { KubeClient } from "../../kube/client.ts";
import type { KubeObject } from "../../kube/object.ts";
import type { WorkerObject, WorkerTask } from "../../link/exchange.ts";
import { Leases } from "../../link/leases.ts";
import { type Link, startLink } from "../../link/link.ts";
import type { Log } from "../../link/log.ts";
import { sendResult } from "../../link/result.ts";
import { Backoff } from "../../link/transport/retry.ts";
import { heldMessage, usualArgoControllerIn } from "../controller/argo-cd.ts";
import type { ChartLookup } from "../controller/deps.ts";
import { heldReason } from "../controller/held.ts";
import type { RepoApi } from "../repo/types.ts";
import { clusterId } from "./cluster-id.ts";
import { Connections } from "./connections.ts";
import type { AgentContext } from "./context.ts";
import { Inbox } from "./deliveries/inbox.ts";
import { Discovery } from "./discover/discovery.ts";
import { SecretIdentity } from "./identity.ts";
import { nameOf } from "./names.ts";
import { NOUNS } from "./nouns.ts";
import { Observer } from "./observe.ts";
import { isOurs, notHere, patternsOf } from "./patterns.ts";
import { providersOf } from "./queries/generate.ts";
import { LogTasks } from "./queries/logs/logs.ts";
import { localReads, READS_BESIDE } from "./queries/reads.ts";
import type { QueryApi } from "./queries/task.ts";
import { runRead } from "./tasks/run.ts";

export interface ServeOptions {
  endpoint: string;
  env: NodeJS.ProcessEnv;
  client: KubeClient;
  namespace: string;
  repo: RepoApi;
  /** Renders charts that look things up, where questions are answered in this process. */
  lookup?: ChartLookup;
  /** There is only the link, beside an Argo CD: no controller and no repo server of ours. */
  beside?: boolean;
  /** Answers questions about the cluster in another process; without it they are answered here, with this program's rights. */
  reads?: QueryApi | undefined;
  version: string;
  log: Log;
  signal: AbortSignal;
  waitSeconds?: number;
  /** The parts as they run, for probes and metrics. */
  started?(parts: { link: Link; inbox: Inbox; discovery: Discovery }): void;
}

// Questions at once; each may render.
const QUESTIONS = 16;

/** Runs the link in the active replica until the signal. */
export async function serve(options: ServeOptions): Promise<void> {
  const { client, namespace, repo, log, signal } = options;
  const cluster = await findCluster(options);
  if (!cluster) return;
  // Whose objects these are is known with the first session; nothing arrives before that.
  const ctx: AgentContext = {
    client,
    namespace,
    account: "",
    sealSeed: new Secret(""),
    log,
    patterns: patternsOf(options.env),
    elsewhere: new Map(),
  };
  const discovery: Discovery = new Discovery({ own: namespace, made: (set) => observer?.made(set) ?? [] });
  const parts = { ctx, repo, lookup: options.lookup, providers: providersOf(options.env) };
  const reads = options.reads ?? localReads(parts, options.beside ? READS_BESIDE : undefined);
  const leases = new Leases();
  const logs = new LogTasks();
  const inbox = new Inbox({
    handle: (object) => handle(ctx, object, (kind, found) => observer?.look(kind, found)),
    report: ({ collection, key, uid }, part) => {
      if (part.outcome === "deleted") observer?.forget(collection, uid);
      link.reports.put({ collection, key, uid }, part);
    },
    log,
  });
  let observer: Observer | undefined;
  const link: Link = startLink({
    endpoint: options.endpoint,
    env: options.env,
    kind: "agent",
    store: new SecretIdentity(client, namespace),
    instance: options.env.POD_NAME || hostname(),
    version: options.version,
    clusterUid: cluster.uid,
    clusterVersion: cluster.version,
    leases,
    heartbeatThread: false,
    lost: (gone, why) => {
      logs.lost(gone);
      log.warn({ tasks: gone.map((lease) => lease.task) }, why);
    },
    ...(options.waitSeconds ? { waitSeconds: options.waitSeconds } : {}),
    log,
    signal,
    opened: ({ identity }) => {
      const { account, org, project } = identity.enrolment;
      ctx.account = account;
      ctx.scope = `${org || "-"}/${project || "-"}`;
      ctx.sealSeed = identity.keys.sealSeed;
      if (observer) return;
      const { reports } = link;
      const connections = new Connections({ ctx, repo, reports, signal });
      observer = new Observer({ ctx, reports, inbox, connection: (held) => connections.want(held), discovery, signal });
    },
    sources: [discovery],
    worker: {
      known: async () => (await observer?.known()) ?? [],
      resync: (open) => {
        observer?.resync();
        discovery.resync(open);
      },
      object: (object) => inbox.put(object),
      // A long read of logs does not hold a place among the questions.
      free: () => Math.max(0, QUESTIONS - (leases.size - logs.size)),
      task: (task) => {
        if (!leases.take(task)) return false;
        const tc = { ctx, repo, reads, beside: options.beside === true, discovery };
        if (task.kind === "application.logs") void logs.run(tc, task, link.session, leases, signal);
        else void runRead(tc, task, link.session, leases, signal);
        return true;
      },
      // A question has no process to end: it is only no longer waited for.
      cancel: (task) => {
        if (logs.cancel(task)) return;
        const lease = leases.list().find((held) => held.task === task);
        if (!lease) return;
        leases.drop(lease);
        void sendResult(link.session, lease as WorkerTask, { outcome: "cancelled" }, signal);
      },
    },
  });
  options.started?.({ link, inbox, discovery });
  const engine = options.beside ? undefined : watchEngine(ctx, discovery, signal);
  await link.done;
  await engine;
  inbox.stop();
  await observer?.done;
}

// The controller itself looks more often; this is for people to read.
const LOOK_MS = 30_000;

/** Tells the service while our controller waits for an Argo CD to end. */
async function watchEngine(ctx: AgentContext, { conditions }: Discovery, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const why = await whyHeld(ctx);
    if (why.kind === "done")
      conditions.set("EngineHeld", why.value ? { reason: "ArgoCDRuns", message: why.value } : undefined);
    await pause(LOOK_MS, signal);
  }
}

/** By the usual name of Argo CD's controller, which the link may look for; else what our controller says, which sees any name. */
async function whyHeld({ client, namespace }: AgentContext): Promise<Outcome<string | undefined>> {
  const usual = await usualArgoControllerIn(client, namespace);
  if (usual.kind === "done" && usual.value) return done(heldMessage(usual.value));
  return heldReason(client, namespace);
}

type Look = (kind: string, object: KubeObject) => void;

async function handle(ctx: AgentContext, object: WorkerObject, look: Look): Promise<Outcome<undefined>> {
  const { collection, op, namespace, uid } = object;
  if (namespace === undefined || namespace === ctx.namespace) return NOUNS[collection][op](ctx, object);
  const resource = NOUNS[collection].elsewhere;
  if (!resource || !(await isOurs(ctx, resource.kind, namespace)))
    return stop("NamespaceNotServed", notHere(namespace));
  // From now on its marks are believed there.
  ctx.elsewhere?.set(uid, `${namespace}/${nameOf(object)}`);
  const outcome = await NOUNS[collection][op](ctx, object);
  if (outcome.kind !== "done" || op === "delete") return outcome;
  // Where nothing had to be written, there is no event.
  const now = await ctx.client.get(resource, namespace, nameOf(object));
  if (now.kind === "done") look(resource.kind, now.value);
  return outcome;
}

async function findCluster({ client, namespace, log, signal }: ServeOptions) {
  const backoff = new Backoff();
  while (!signal.aborted) {
    const found = await clusterId(client, namespace);
    if (found.kind === "done") return found.value;
    log.warn({ reason: found.reason }, `the cluster cannot be asked who it is: ${found.message}`);
    await pause(backoff.next(found), signal);
  }
  return undefined;
}
