/** What to warn of when the API key would go over plain HTTP to another machine. OUTPOST_ALLOW_HTTP=true says that a tunnel or mesh encrypts it. */
export function plainHttpWarning(endpoint: string, env: NodeJS.ProcessEnv): string | undefined {
  const url = URL.parse(endpoint);
  if (url?.protocol !== "http:" || env.OUTPOST_ALLOW_HTTP === "true" || isLoopback(url.hostname)) return undefined;
  return `The API key is sent to ${url.origin} over plain HTTP, where anyone on the network path can read it. Use https://, or set OUTPOST_ALLOW_HTTP=true if a service mesh or tunnel encrypts the connection.`;
}

const isLoopback = (host: string): boolean =>
  host === "localhost" || host.endsWith(".localhost") || host === "[::1]" || /^127(\.\d{1,3}){3}$/.test(host);
