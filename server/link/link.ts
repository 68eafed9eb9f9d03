import { setMaxListeners } from "node:events";
import { fingerprintOf } from "../../openapi/known-agents.ts";
import { runExchange, type Source, type Worker } from "./exchange.ts";
import { runHeartbeat } from "./heartbeat.ts";
import { startHeartbeatThread } from "./heartbeat-host.ts";
import type { IdentityStore } from "./identity/identity.ts";
import type { Lease, Leases } from "./leases.ts";
import type { Log } from "./log.ts";
import { Reports } from "./reports.ts";
import { type Facts, type Open, Session } from "./session.ts";
import { networkEnv, tokenOf } from "./settings.ts";
import { Transport } from "./transport/transport.ts";

export interface LinkOptions {
  endpoint: string;
  env: NodeJS.ProcessEnv;
  kind: "agent" | "delegate";
  store: IdentityStore;
  /** Name of this replica; sessions are per instance. */
  instance: string;
  version: string;
  clusterUid?: string | undefined;
  clusterVersion?: string | undefined;
  facts?: () => Facts;
  worker: Worker;
  /** Further messages to the service besides reports. */
  sources?: readonly Source[];
  leases: Leases;
  /** Leases that are gone; they are dropped from `leases` already. */
  lost(leases: Lease[], why: string): void;
  /** A thread of its own for the heartbeat, where work may keep the main loop busy. */
  heartbeatThread: boolean;
  opened?: (open: Open) => void;
  waitSeconds?: number;
  log: Log;
  /** Ends everything at once; a draining worker calls this only after its tasks are done. */
  signal: AbortSignal;
}

export interface Link {
  session: Session;
  reports: Reports;
  /** To be called after each change of `leases`. */
  leasesChanged(): void;
  /** Milliseconds since a heartbeat last arrived; undefined before the first. */
  sinceBeat(): number | undefined;
  done: Promise<void>;
}

/** Starts the link: enrolment and session on first need, exchange and heartbeat until the signal ends. */
export function startLink(options: LinkOptions): Link {
  const { endpoint, env, signal, log, leases } = options;
  // One listener for each request and wait under way; they go with these.
  setMaxListeners(0, signal);
  const userAgent = `outpost-${options.kind}/${options.version}`;
  const transport = new Transport({ endpoint, env, userAgent });
  let beaten: number | undefined;
  const told = (failure: { reason: string; message: string } | undefined) => {
    if (!failure) beaten = performance.now();
    else if (failure.reason === "session_expired" || failure.reason === "unauthenticated") {
      if (session.open) session.expire(session.open);
    }
  };
  const lost = (gone: Lease[], why: string) => {
    for (const lease of gone) leases.drop(lease);
    options.lost(gone, why);
  };
  const thread = options.heartbeatThread
    ? startHeartbeatThread({
        endpoint,
        env: networkEnv(env),
        userAgent,
        lost,
        told,
        // Without heartbeats every lease would be lost without a reason.
        died: (error) => {
          log.error({ error: error.message }, "the heartbeat's thread ended");
          throw error;
        },
      })
    : undefined;
  const session = new Session({
    ...options,
    token: tokenOf(env),
    transport,
    ended: (_, message) => {
      const gone = leases.list();
      if (gone.length) lost(gone, message);
    },
    opened: (open) => {
      const { bearer, heartbeatMs, leaseMs, identity } = open;
      thread?.beat({ bearer, heartbeatMs, leaseMs });
      const { worker, id } = identity.enrolment;
      // People compare it with the key that the service offers for this worker.
      log.info(
        { worker, id, epoch: open.epoch, sealKey: fingerprintOf(identity.keys.sealKey) },
        `connected to ${endpoint}`,
      );
      if (Math.abs(transport.clockSkewSeconds) > 300)
        log.warn(
          { seconds: transport.clockSkewSeconds },
          "this machine's clock and the service's differ; certificates may seem invalid",
        );
      options.opened?.(open);
    },
  });
  const reports = new Reports();
  const beat = thread
    ? undefined
    : runHeartbeat({ transport, beat: () => session.open, leases: () => leases.list(), lost, told, signal });
  const done = Promise.all([runExchange({ ...options, session, reports }), beat]).then(async () => {
    await thread?.stop();
    await transport.close();
  });
  return {
    session,
    reports,
    leasesChanged: () => thread?.leases(leases.list()),
    sinceBeat: () => (beaten === undefined ? undefined : performance.now() - beaten),
    done,
  };
}
