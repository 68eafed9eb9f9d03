import { type IncomingMessage, createServer as plain, request, type ServerResponse } from "node:http";
import { createServer as secure } from "node:https";
import type { AddressInfo } from "node:net";

export interface FrontOptions {
  /** Port of the server behind it. */
  to: number;
  /** The only header by which one gets through; without a challenge, so a client that waits for one does not pass. */
  authorization?: string;
  /** PEM texts; with `clients` only who has a certificate of that authority gets through. */
  tls?: { certificate: string; key: string; clients?: string };
}

/** What stands before a server in the world: TLS, client certificates, and a guard that does not ask. */
export async function startFront({
  to,
  authorization,
  tls,
}: FrontOptions): Promise<{ url: string; seen: (string | undefined)[]; stop(): Promise<void> }> {
  const seen: (string | undefined)[] = [];
  const handle = (incoming: IncomingMessage, response: ServerResponse) => {
    seen.push(incoming.headers.authorization);
    if (authorization !== undefined && incoming.headers.authorization !== authorization)
      return void response.writeHead(403).end("no\n");
    const { method, headers, url: path } = incoming;
    const own = { ...headers };
    if (authorization !== undefined) delete own.authorization;
    const onward = request({ host: "127.0.0.1", port: to, path, method, headers: own }, (back) => {
      response.writeHead(back.statusCode ?? 502, back.headers);
      back.pipe(response);
    });
    onward.on("error", () => response.destroy());
    incoming.pipe(onward);
  };
  const guard = tls?.clients ? { ca: tls.clients, requestCert: true, rejectUnauthorized: true } : {};
  const server = tls ? secure({ cert: tls.certificate, key: tls.key, ...guard }, handle) : plain(handle);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http${tls ? "s" : ""}://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    stop: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}
