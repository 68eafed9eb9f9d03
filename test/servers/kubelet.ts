import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeServerCertificate } from "./tls.ts";

/** What a container writes, as the kubelet gives it: `query` is what the API server passes on of `kubectl logs`. */
export type Writes = (log: {
  pod: string;
  container: string;
  query: URLSearchParams;
  out: ServerResponse;
  request: IncomingMessage;
}) => void;

/** The part of a kubelet that gives logs, on loopback and over TLS, for the real API server to ask; a Pod's `nodeName` leads to it. */
export interface Kubelet {
  port: number;
  /** Logs that are being read now. */
  readers(): number;
  stop(): Promise<void>;
}

export async function startKubelet(writes: Writes): Promise<Kubelet> {
  const dir = mkdtempSync(join(tmpdir(), "outpost-kubelet-"));
  const { certificate, key } = await makeServerCertificate(dir);
  let readers = 0;
  const server = createServer({ cert: readFileSync(certificate), key: readFileSync(key) }, (request, out) => {
    const url = new URL(request.url ?? "/", "https://kubelet");
    const [, door, , pod = "", container = ""] = url.pathname.split("/");
    if (door !== "containerLogs") return void out.writeHead(404).end();
    readers++;
    out.once("close", () => readers--);
    out.writeHead(200, { "content-type": "text/plain" });
    writes({ pod, container, query: url.searchParams, out, request });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    readers: () => readers,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
