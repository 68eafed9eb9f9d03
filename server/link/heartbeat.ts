import type { Schemas } from "../../openapi/client.ts";
import { pause } from "../base/process/pause.ts";
import type { Lease } from "./leases.ts";
import { Backoff } from "./transport/retry.ts";
import type { Transport } from "./transport/transport.ts";

/** What a beat needs of the session; copied into the heartbeat's thread. */
export interface Beat {
  bearer: string;
  heartbeatMs: number;
  leaseMs: number;
}

export interface HeartbeatOptions {
  transport: Transport;
  /** The newest session; none yet means wait. */
  beat(): Beat | undefined;
  leases(): Lease[];
  /** These are lost: taken away by the service, or not renewed for as long as they last. */
  lost(leases: Lease[], why: string): void;
  /** A beat arrived, or failed. */
  told?(failure: { reason: string; message: string } | undefined): void;
  signal: AbortSignal;
}

/**
 * Renews all leases every `heartbeatMs`. A lease that was not renewed for `leaseMs`, counted from when the last good beat was *sent*
 * and in monotonic time, is given up here: the service counts from when it arrived, so this side always ends first.
 */
export async function runHeartbeat(options: HeartbeatOptions): Promise<void> {
  const { transport, signal } = options;
  const backoff = new Backoff();
  const renewed = new Map<string, number>();
  const at = ({ task, fence }: Lease) => `${task}/${fence}`;
  while (!signal.aborted) {
    const beat = options.beat();
    if (!beat) {
      await pause(50, signal);
      continue;
    }
    const leases = options.leases();
    const sent = performance.now();
    // A lease is new when it is first seen here, moments after it came.
    for (const lease of leases) if (!renewed.has(at(lease))) renewed.set(at(lease), sent);
    const current = new Set(leases.map(at));
    for (const key of renewed.keys()) if (!current.has(key)) renewed.delete(key);
    const answer = await transport.call<Schemas["HeartbeatAnswer"]>("POST", "/v1/worker/heartbeat", {
      body: { leases },
      bearer: beat.bearer,
      // Two beats fit into the lease's remaining time even when one is lost.
      deadlineMs: Math.max(500, Math.min(beat.heartbeatMs, beat.leaseMs / 3)),
      signal,
    });
    if (signal.aborted) return;
    let wait = beat.heartbeatMs;
    if (answer.kind === "done") {
      backoff.reset();
      options.told?.(undefined);
      const gone = new Set(answer.value.lost ?? []);
      for (const lease of leases) if (!gone.has(lease.task)) renewed.set(at(lease), sent);
      const taken = leases.filter((lease) => gone.has(lease.task));
      if (taken.length) options.lost(taken, "the lease has ended or another worker has it");
    } else {
      options.told?.(answer);
      wait = Math.min(backoff.next(answer), beat.heartbeatMs);
    }
    const now = performance.now();
    const expired = leases.filter((lease) => now - renewed.get(at(lease))! >= beat.leaseMs);
    if (expired.length) options.lost(expired, "the lease could not be renewed in time");
    await pause(Math.max(0, wait - (now - sent)), signal);
  }
}
