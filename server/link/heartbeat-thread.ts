import { parentPort, workerData } from "node:worker_threads";
import { type Beat, runHeartbeat } from "./heartbeat.ts";
import type { Lease } from "./leases.ts";
import { Transport } from "./transport/transport.ts";

/** What the main thread says. */
export type ToThread = { beat: Beat } | { leases: Lease[] } | { stop: true };
/** What the thread answers. */
export type FromThread = { lost: Lease[]; why: string } | { failure: { reason: string; message: string } | undefined };
export interface ThreadData {
  endpoint: string;
  env: Record<string, string | undefined>;
  userAgent: string;
}

/** The heartbeat's own thread: it has its own connections and event loop, so that work in the main thread cannot delay a beat. */
if (parentPort) {
  const port = parentPort;
  const stop = new AbortController();
  const transport = new Transport(workerData as ThreadData);
  let beat: Beat | undefined;
  let leases: Lease[] = [];
  port.on("message", (message: ToThread) => {
    if ("beat" in message) beat = message.beat;
    else if ("leases" in message) leases = message.leases;
    else stop.abort();
  });
  const say = (message: FromThread) => port.postMessage(message);
  await runHeartbeat({
    transport,
    beat: () => beat,
    leases: () => leases,
    lost: (gone, why) => {
      // The main thread will say so in a moment; until then they must not be renewed.
      const out = new Set(gone.map(({ task, fence }) => `${task}/${fence}`));
      leases = leases.filter(({ task, fence }) => !out.has(`${task}/${fence}`));
      say({ lost: gone, why });
    },
    told: (failure) => say({ failure: failure && { reason: failure.reason, message: failure.message } }),
    signal: stop.signal,
  });
  await transport.close();
  port.close();
}
