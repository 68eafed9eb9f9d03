import { again, type Failure } from "../../base/outcome.ts";

/** Which layer failed; constants for machines, they never change. Codes of problems (`token_invalid`, …) stand beside them. */
export const LAYER = {
  dns: "NameNotResolved",
  connect: "ConnectFailed",
  proxy: "ProxyFailed",
  tls: "TlsFailed",
  clock: "ClockWrong",
  timeout: "TimedOut",
  http: "HttpFailed",
  foreign: "NotOutpost",
} as const;

export interface Route {
  origin: string;
  /** `host:port` of the proxy for this origin, without credentials. */
  proxy?: string | undefined;
  caFile?: string | undefined;
}

interface SystemError extends Error {
  code?: string;
  hostname?: string;
  address?: string;
  port?: number;
  errors?: SystemError[];
}

/** Says in a person's words which layer an exception of a request comes from and what to look at. */
export function faultOf(error: unknown, route: Route): Failure {
  const cause = innermost(error as SystemError);
  // A DOMException has a number there.
  const code = typeof cause.code === "string" ? cause.code : "";
  const viaProxy = route.proxy !== undefined;
  // The name or port in the error tells whether it is the proxy or the service that could not be reached.
  const proxyItself =
    viaProxy &&
    (cause.hostname === hostOf(route.proxy!) ||
      (cause.port !== undefined && String(cause.port) === portOf(route.proxy!)));
  const target = proxyItself ? `the proxy ${route.proxy}` : route.origin;
  if (/Proxy response \((\d+)\)/.test(cause.message)) {
    const status = /\((\d+)\)/.exec(cause.message)![1];
    const hint =
      status === "407"
        ? "it asks for a user name and password: put them into HTTPS_PROXY"
        : "it does not allow the connection: ask for an exception, or add the host to NO_PROXY";
    return again(LAYER.proxy, `the proxy ${route.proxy} answered ${status} to CONNECT for ${route.origin}: ${hint}`);
  }
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") {
    const name = cause.hostname ?? new URL(route.origin).hostname;
    return again(
      proxyItself ? LAYER.proxy : LAYER.dns,
      `the name ${name} ${proxyItself ? "of the proxy " : ""}cannot be resolved (${code}): look at the address and this machine's DNS`,
    );
  }
  if (/^CERT_(HAS_EXPIRED|NOT_YET_VALID)$/.test(code)) {
    return again(
      LAYER.clock,
      `the certificate of ${target} is not valid at this machine's time, ${new Date().toISOString()}: set the clock, or renew the certificate`,
    );
  }
  if (isTls(code)) {
    const ca = route.caFile
      ? `the CA in ${route.caFile} does not fit either`
      : "for a private CA or an inspecting proxy, name its file in OUTPOST_CA_FILE";
    return again(LAYER.tls, `the certificate of ${target} is not trusted (${code}): ${ca}`);
  }
  if (code === "EPROTO" || code.startsWith("ERR_SSL")) {
    return again(
      LAYER.tls,
      `${target} does not speak TLS as expected (${code}): look at http:// against https:// and the port`,
    );
  }
  if (code === "UND_ERR_HEADERS_TIMEOUT" || code === "UND_ERR_BODY_TIMEOUT" || cause.name === "TimeoutError") {
    return again(
      LAYER.timeout,
      `${route.origin} did not answer in time${viaProxy ? ` through the proxy ${route.proxy}` : ""}: the connection may be half open, a new one is made`,
    );
  }
  if (code === "UND_ERR_CONNECT_TIMEOUT") {
    return again(
      proxyItself || viaProxy ? LAYER.proxy : LAYER.connect,
      `no connection to ${viaProxy ? `the proxy ${route.proxy}` : route.origin} within 10 s: look at firewalls and network policies`,
    );
  }
  const detail = code || cause.message || "unknown error";
  return again(proxyItself ? LAYER.proxy : LAYER.connect, `no connection to ${target} (${detail})`);
}

function innermost(error: SystemError): SystemError {
  let at = error;
  for (let depth = 0; depth < 8; depth++) {
    const next = at.errors?.[0] ?? (at.cause as SystemError | undefined);
    if (!next || typeof next !== "object") break;
    at = next;
  }
  return at;
}

function isTls(code: string): boolean {
  return /^(CERT_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|ERR_TLS_CERT|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE)/.test(
    code,
  );
}
const hostOf = (proxy: string) => proxy.replace(/:\d+$/, "");
const portOf = (proxy: string) => /:(\d+)$/.exec(proxy)?.[1];
