/** The proxy settings of an environment; lower-case names win, as everywhere. */
export interface ProxySettings {
  httpProxy: string;
  httpsProxy: string;
  noProxy: string;
}

export function proxySettings(env: NodeJS.ProcessEnv): ProxySettings {
  const pick = (name: string) => env[name.toLowerCase()] ?? env[name] ?? "";
  const all = pick("ALL_PROXY");
  const httpProxy = pick("HTTP_PROXY") || all;
  return { httpProxy, httpsProxy: pick("HTTPS_PROXY") || all || httpProxy, noProxy: pick("NO_PROXY") };
}

/** The proxy a request to `origin` goes through, with its credentials. */
export function proxyFor(origin: string, env: NodeJS.ProcessEnv): string | undefined {
  const settings = proxySettings(env);
  return (
    proxyOf(origin, settings) && (new URL(origin).protocol === "https:" ? settings.httpsProxy : settings.httpProxy)
  );
}

/** `host:port` of the proxy a request to `origin` goes through, without credentials; for messages only. */
export function proxyOf(origin: string, settings: ProxySettings): string | undefined {
  const url = new URL(origin);
  const proxy = url.protocol === "https:" ? settings.httpsProxy : settings.httpProxy;
  if (!proxy || excluded(url, settings.noProxy)) return undefined;
  try {
    const { hostname, port, protocol } = new URL(proxy);
    return `${hostname}:${port || (protocol === "https:" ? 443 : 80)}`;
  } catch {
    return undefined;
  }
}

function excluded(url: URL, noProxy: string): boolean {
  const port = url.port || (url.protocol === "https:" ? "443" : "80");
  return noProxy
    .split(/[,\s]+/)
    .filter(Boolean)
    .some((entry) => {
      if (entry === "*") return true;
      const [, host = "", onlyPort] = /^(.*?)(?::(\d+))?$/.exec(entry.toLowerCase()) ?? [];
      if (onlyPort && onlyPort !== port) return false;
      const name = host.replace(/^\*?\./, "");
      return url.hostname === name || url.hostname.endsWith(`.${name}`);
    });
}
