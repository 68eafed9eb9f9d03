import { isIP } from "node:net";

/** Whether a host name or address means this machine; nothing sent there passes a network. */
export function isLoopbackHost(host: string): boolean {
  const name = host.replace(/^\[|\]$/g, "").toLowerCase();
  if (name === "localhost" || name.endsWith(".localhost") || name === "::1") return true;
  return isIP(name) === 4 && name.startsWith("127.");
}

/** What to warn of when credentials go to this endpoint over plain HTTP; nothing when they do not, or OUTPOST_ALLOW_HTTP=true says that this is meant. */
export function plainHttpWarning(endpoint: string, env: NodeJS.ProcessEnv): string | undefined {
  const url = URL.parse(endpoint);
  if (url?.protocol !== "http:" || isLoopbackHost(url.hostname) || env.OUTPOST_ALLOW_HTTP === "true") return undefined;
  return `${url.origin} is plain HTTP: anyone on the network path can read the credentials that are sent. Use https://, or set OUTPOST_ALLOW_HTTP=true if a service mesh or tunnel encrypts the connection`;
}
