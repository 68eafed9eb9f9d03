import type { IncomingMessage } from "node:http";
import { isLoopbackHost } from "../../base/cloud/plain-http.ts";
import type { TrustedProxies } from "../strangers/address.ts";

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

/** Whether an address made without OUTPOST_PUBLIC_URL reaches the service from other machines: it is not known. */
export const isGuess = (origin: string, publicUrl: string | undefined): boolean =>
  publicUrl === undefined && !isLoopbackHost(URL.parse(origin)?.hostname ?? "");

/**
 * Whether this answer reaches the client over TLS, as far as the service can tell: it speaks plain HTTP itself. Only such an answer may carry
 * `Strict-Transport-Security`. Where proxies are named, the client is behind one of them; else it is behind a proxy on this machine, or asked for
 * the public name. A proxy that says `http` is believed in any case.
 */
export function isOverTls(req: IncomingMessage, publicUrl: string | undefined, proxies: TrustedProxies): boolean {
  const shown = publicUrl === undefined ? undefined : URL.parse(publicUrl);
  if (shown?.protocol !== "https:") return false;
  const said = [req.headers["x-forwarded-proto"]].flat().join(",");
  if (said.split(",").some((one) => one.trim().toLowerCase() === "http")) return false;
  const peer = req.socket.remoteAddress ?? "";
  if (proxies.areNamed) return proxies.has(peer);
  return isLoopbackHost(peer.replace(/^::ffff:/i, "")) || req.headers.host?.toLowerCase() === shown.host;
}
