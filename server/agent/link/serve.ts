import { hostname } from "node:os";
import type { Outcome } from "../../base/outcome.ts";
import { Secret } from "../../base/secret.ts";
import type { KubeClient } from "../../kube/client.ts";
import type { WorkerObject, WorkerTask } from "../../link/exchange.ts";
import { Leases } from "../../link/leases.ts";
import { type Link, startLink } from "../../link/link.ts";
import type { Log } from "../../link/log.ts";
import { sendResult } from "../../link/result.ts";
import { Backoff, pause } from "../../link/retry.ts";
import type { LookupDoor } from "../controller/lookup.ts";
import type { RepoDoor } from "../repo/types.ts";
import { putApplication, removeApplication } from "./application.ts";
import { putCluster } from "./cluster.ts";
import { clusterId } from "./cluster-id.ts";
import { Connections } from "./connections.ts";
import type { Context } from "./context.ts";
import { SecretIdentity } from "./identity.ts";
import { Inbox } from "./inbox.ts";
import type { Collection } from "./names.ts";
import { Observer } from "./observe.ts";
import { putAppProject, removeAppProject } from "./project.ts";
import { putRepository, putRepositoryCredential, removeRepository, removeSecret } from "./repository.ts";
import { putApplicationSet, removeApplicationSet } from "./set.ts";
import { providersOf } from "./tasks/generate.ts";
import { LogTasks } from "./tasks/logs.ts";
import { localReads, type ReadDoor } from "./tasks/reads.ts";
import { runRead } from "./tasks/run.ts";
import { putCertificate, putGnupgKey, removeCertificate, removeGnupgKey } from "./trust.ts";

export interface ServeOptions {
  endpoint: string;
  env: NodeJS.ProcessEnv;
  client: KubeClient;
  namespace: string;
  repo: RepoDoor;
  /** Renders charts that look things up, where questions are answered in this process. */
  lookup?: LookupDoor;
  /** Answers questions about the cluster in another process; without it they are answered here, with this program's rights. */
  reads?: ReadDoor | undefined;
  version: string;
  log: Log;
  signal: AbortSignal;
  waitSeconds?: number;
  /** The parts as they run, for probes and metrics. */
  started?(parts: { link: Link; inbox: Inbox }): void;
}

type Handler = (ctx: Context, object: WorkerObject) => Promise<Outcome<undefined>>;
const HANDLERS: Record<Collection, { put: Handler; delete: Handler }> = {
  applications: { put: putApplication, delete: removeApplication },
  applicationsets: { put: putApplicationSet, delete: removeApplicationSet },
  appprojects: { put: putAppProject, delete: removeAppProject },
  repositories: { put: putRepository, delete: removeRepository },
  repositorycredentials: { put: putRepositoryCredential, delete: removeSecret },
  repositorycertificates: { put: putCertificate, delete: removeCertificate },
  gnupgkeys: { put: putGnupgKey, delete: removeGnupgKey },
  clusters: { put: putCluster, delete: removeSecret },
};
// Questions at once; each may render.
const QUESTIONS = 16;

/** Runs the link of the one replica that talks, until the signal. */
export async function serve(options: ServeOptions): Promise<void> {
  const { client, namespace, repo, log, signal } = options;
  const cluster = await findCluster(options);
  if (!cluster) return;
  // Whose objects these are is known with the first session; nothing arrives before that.
  const ctx: Context = { client, namespace, account: "", sealSeed: new Secret(""), log };
  const reads = options.reads ?? localReads({ ctx, repo, lookup: options.lookup, providers: providersOf(options.env) });
  const leases = new Leases();
  const logs = new LogTasks();
  const inbox = new Inbox({
    handle: (object) => HANDLERS[object.collection][object.op](ctx, object),
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
      observer = new Observer({ ctx, reports, inbox, connection: (held) => connections.want(held), signal });
    },
    worker: {
      known: async () => (await observer?.known()) ?? [],
      resync: () => observer?.resync(),
      object: (object) => inbox.put(object),
      // Who reads logs for an hour keeps nobody from asking.
      free: () => Math.max(0, QUESTIONS - (leases.size - logs.size)),
      task: (task) => {
        if (!leases.take(task)) return false;
        const tc = { ctx, repo, reads };
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
  options.started?.({ link, inbox });
  await link.done;
  inbox.stop();
  await observer?.done;
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
