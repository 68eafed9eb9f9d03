import { Worker } from "node:worker_threads";
import type { Beat } from "./heartbeat.ts";
import type { FromThread, ThreadData, ToThread } from "./heartbeat-thread.ts";
import type { Lease } from "./leases.ts";

export interface HeartbeatHost {
  beat(beat: Beat): void;
  leases(leases: Lease[]): void;
  stop(): Promise<void>;
}

export interface HostOptions extends ThreadData {
  lost(leases: Lease[], why: string): void;
  told?(failure: { reason: string; message: string } | undefined): void;
  /** The thread ended by itself, which only a defect can cause. */
  died(error: Error): void;
}

/** Starts the heartbeat's thread. In the bundle it is a file beside the program; from source it needs a loader for TypeScript. */
export function startHeartbeatThread(options: HostOptions): HeartbeatHost {
  const source = import.meta.url.endsWith(".ts");
  const file = new URL(source ? "./heartbeat-thread.ts" : "./heartbeat.mjs", import.meta.url);
  const load = `import("tsx/esm/api").then(({ register }) => (register(), import(${JSON.stringify(file.href)})))`;
  const { endpoint, env, userAgent } = options;
  const data: ThreadData = { endpoint, env, userAgent };
  const thread = source ? new Worker(load, { eval: true, workerData: data }) : new Worker(file, { workerData: data });
  let stopping = false;
  const gone = new Promise<void>((resolve) => thread.once("exit", () => resolve()));
  thread.on("message", (message: FromThread) => {
    if ("lost" in message) options.lost(message.lost, message.why);
    else options.told?.(message.failure);
  });
  thread.on("error", (error) => {
    if (!stopping) options.died(error);
  });
  const say = (message: ToThread) => thread.postMessage(message);
  return {
    beat: (beat) => say({ beat }),
    leases: (leases) => say({ leases }),
    stop: async () => {
      stopping = true;
      say({ stop: true });
      const forced = setTimeout(() => void thread.terminate(), 2_000);
      await gone;
      clearTimeout(forced);
    },
  };
}
