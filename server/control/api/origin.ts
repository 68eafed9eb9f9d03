import type { IncomingMessage } from "node:http";
import { isLoopbackHost } from "../../base/plain-http.ts";

/**
 * The service's address as this client may be shown it: OUTPOST_PUBLIC_URL, else the address of the connection. The Host header is the caller's
 * text and could name another machine, to which workers and Git hosts would then send their credentials; it counts only for a loopback name on a loopback connection,
 * as with a forwarded port.
 */
export function originOf(req: IncomingMessage, publicUrl: string | undefined): string {
  if (publicUrl) return publicUrl;
  const { localAddress = "127.0.0.1", localPort = 80 } = req.socket;
  const local = localAddress.replace(/^::ffff:/i, "");
  const host = req.headers.host ?? "";
  const named = /^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9.-]+)(?::[0-9]{1,5})?$/.exec(host)?.[1];
  if (isLoopbackHost(local) && named !== undefined && isLoopbackHost(named)) return `http://${host}`;
  return `http://${local.includes(":") ? `[${local}]` : local}:${localPort}`;
}

/** Whether an address made without OUTPOST_PUBLIC_URL reaches the service from other machines: nobody knows. */
export const isGuess = (origin: string, publicUrl: string | undefined): boolean =>
  publicUrl === undefined && !isLoopbackHost(URL.parse(origin)?.hostname ?? "");
