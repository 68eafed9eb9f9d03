import { createServer, type Server } from "node:http";
import { Agent, request } from "node:https";
import type { AddressInfo } from "node:net";
import { parseKubeconfig } from "../../server/kube/config.ts";

/** Whether the write at which its client dies has reached the API server. */
export const MODES = ["before", "after"] as const;
export type Mode = (typeof MODES)[number];

/** A way to the API server that can end at a write. */
export interface Way {
  url: string;
  /** From the nth write on nothing passes, as for a controller that is dead: that write does not arrive, or its answer does not. */
  dieAt(n: number, mode: Mode): void;
  died(): boolean;
  cut(): void;
  stop(): Promise<void>;
}

export async function startWay(kubeconfig: string): Promise<Way> {
  const { server: to, ca } = parseKubeconfig(kubeconfig);
  const agent = new Agent({ ca, keepAlive: true });
  let left = Number.POSITIVE_INFINITY;
  let mode: Mode = "before";
  let dead = false;
  const server: Server = createServer((asked, answer) => {
    const writes = !["GET", "HEAD"].includes(asked.method ?? "");
    const last = writes && !dead && --left <= 0;
    if (last) dead = true;
    if (dead && !(last && mode === "after")) return void asked.socket.destroy();
    const { host: _, connection: __, ...headers } = asked.headers;
    const onward = request(new URL(asked.url ?? "/", to), { method: asked.method, headers, agent }, (got) => {
      if (last) {
        got.resume();
        return void got.on("end", () => asked.socket.destroy());
      }
      answer.writeHead(got.statusCode ?? 502, got.headers);
      got.pipe(answer).on("error", () => got.destroy());
    });
    onward.on("error", () => asked.socket.destroy());
    answer.on("close", () => !last && onward.destroy());
    asked.pipe(onward);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    dieAt: (n, how) => {
      [left, mode, dead] = [n, how, false];
    },
    died: () => dead,
    cut: () => {
      dead = true;
      server.closeAllConnections();
    },
    stop: async () => {
      agent.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
