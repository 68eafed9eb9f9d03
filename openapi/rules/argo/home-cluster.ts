/** The reserved name of the cluster that an agent runs in. No cluster can be registered under it. */
export const HOME_NAME = "in-cluster";
/** The ecosystem's address of the home cluster. */
export const HOME_SERVER = "https://kubernetes.default.svc";

const HOME_HOSTS = new Set([
  "kubernetes",
  "kubernetes.default",
  "kubernetes.default.svc",
  "kubernetes.default.svc.cluster.local",
]);
const DEFAULT_PORTS: Record<string, string> = { "https:": "443", "http:": "80" };

/** Where a Pod finds the API server of its cluster. */
export interface PodEnvironment {
  KUBERNETES_SERVICE_HOST?: string | undefined;
  KUBERNETES_SERVICE_PORT?: string | undefined;
}

/**
 * Whether an address is the agent's own API server, in any spelling: slashes at the end, ports, case, a trailing dot, user information,
 * percent-encoding, http, the long and the short names, and the address that Pods get in `KUBERNETES_SERVICE_HOST`.
 */
export function isHomeAddress(address: string, env: PodEnvironment = {}): boolean {
  const trimmed = address.trim();
  if (trimmed === "") return false;
  const url = URL.parse(/^[a-z][a-z0-9+.-]*:[/\\]/i.test(trimmed) ? trimmed : `https://${trimmed}`);
  if (!url) return false;
  const host = canonicalHost(url.hostname);
  if (HOME_HOSTS.has(host)) return true;
  const { KUBERNETES_SERVICE_HOST: own, KUBERNETES_SERVICE_PORT: ownPort = "443" } = env;
  if (!own || host !== canonicalHost(URL.parse(`https://${own.includes(":") ? `[${own}]` : own}`)?.hostname ?? own))
    return false;
  // Without a port, http means the port in the Pods' environment: nothing else is served in plain text there.
  const port = url.port || (url.protocol === "https:" ? DEFAULT_PORTS["https:"]! : ownPort);
  return port === ownPort;
}

/** One spelling of a host: lower case, no trailing dots, an IPv4 address inside an IPv6 one as IPv4. */
function canonicalHost(hostname: string): string {
  const host = hostname.toLowerCase().replace(/\.+$/, "");
  const mapped = /^\[::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})\]$/.exec(host);
  if (!mapped) return host;
  const bytes = [mapped[1]!, mapped[2]!].flatMap((part) => [
    Number.parseInt(part, 16) >> 8,
    Number.parseInt(part, 16) & 255,
  ]);
  return bytes.join(".");
}
