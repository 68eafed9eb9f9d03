import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface ProbeOptions {
  /** `host:port`; port 0 takes a free one. */
  listen: string;
  ready(): boolean;
  metrics?(): Promise<string>;
}

export interface Probes {
  port: number;
  stop(): Promise<void>;
}

/** `/healthz`, `/readyz` and `/metrics`, for the kubelet and for Prometheus. */
export async function startProbes({ listen, ready, metrics }: ProbeOptions): Promise<Probes> {
  const server = createServer((request, response) => {
    const text = (status: number, body: string) =>
      void response.writeHead(status, { "content-type": "text/plain; charset=utf-8" }).end(body);
    switch (request.url) {
      case "/healthz":
        return text(200, "ok\n");
      case "/readyz":
        return ready() ? text(200, "ok\n") : text(503, "not ready\n");
      case "/metrics":
        if (metrics)
          return void metrics().then(
            (body) => text(200, body),
            () => text(500, "no metrics\n"),
          );
    }
    text(404, "not found\n");
  });
  server.headersTimeout = 5_000;
  server.requestTimeout = 5_000;
  const colon = listen.lastIndexOf(":");
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(Number(listen.slice(colon + 1)), listen.slice(0, colon) || "127.0.0.1", resolve);
  });
  // Without a free descriptor a connection is not accepted; the program continues.
  server.on("error", () => {});
  return {
    port: (server.address() as AddressInfo).port,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
