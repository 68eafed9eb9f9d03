import { readdirSync } from "node:fs";
import { WebSocket } from "undici";
import { type Daemon, until } from "../servers/run.ts";
import { rssOf } from "./installation.ts";

/** To be in the environment of a program that is looked into. */
export const INSPECTED = { NODE_OPTIONS: "--inspect=127.0.0.1:0" };

/** What a program holds. */
export interface Held {
  /** MiB of its heap after a collection of garbage, and of all that is resident. */
  heap: number;
  resident: number;
  /** Open files and sockets, and what would keep its loop alive: timers, sockets, processes. */
  handles: number;
  active: number;
}

/** Looks into a running program through Node's own inspector; the program is as it is shipped. */
export async function lookInto(program: Daemon): Promise<{ held(): Promise<Held>; close(): void }> {
  const url = await until("the inspector", () => /ws:\/\/\S+/.exec(program.said())?.[0]);
  const socket = new WebSocket(url);
  const waiting = new Map<number, (answer: any) => void>();
  socket.addEventListener("message", ({ data }) => {
    const { id, result } = JSON.parse(String(data));
    waiting.get(id)?.(result);
    waiting.delete(id);
  });
  await new Promise((resolve, reject) => {
    socket.addEventListener("open", resolve, { once: true });
    socket.addEventListener("error", reject, { once: true });
  });
  let last = 0;
  const ask = (method: string, params: object = {}) =>
    new Promise<any>((resolve) => {
      waiting.set(++last, resolve);
      socket.send(JSON.stringify({ id: last, method, params }));
    });
  return {
    async held() {
      // The first collection runs the finalizers, the second takes what they held.
      for (let n = 0; n < 2; n++) await ask("HeapProfiler.collectGarbage");
      const { usedSize } = await ask("Runtime.getHeapUsage");
      const active = await ask("Runtime.evaluate", {
        expression: "process.getActiveResourcesInfo().length",
        returnByValue: true,
      });
      const pid = program.child.pid!;
      return {
        heap: usedSize / 1_048_576,
        resident: rssOf(pid),
        handles: readdirSync(`/proc/${pid}/fd`).length,
        active: active.result.value,
      };
    },
    close: () => socket.close(),
  };
}
