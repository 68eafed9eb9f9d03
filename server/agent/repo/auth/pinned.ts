import { isIP } from "node:net";
import { refusedFrom, safeAddresses } from "../../../base/cloud/address.ts";
import { again, done, type Outcome, stop } from "../../../base/outcome.ts";
import { REPO, type RepoAccess } from "../types.ts";
import { isSsh, placeOf, redactUrl } from "../url.ts";

/** What makes git connect to an address that was looked at: a name's address may be another one the next time it is asked for. */
export interface Pin {
  config: [string, string][];
  ssh: string[];
}

const USABLE = /^[A-Za-z0-9_][A-Za-z0-9._-]*$/;
const NONE: Pin = { config: [], ssh: [] };
const PROXIES = ["HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy"];

/** Looks at where a repository's host is. Behind a proxy the name may mean nothing here: then the proxy decides, and where that is we do. */
export async function pinned(repo: RepoAccess): Promise<Outcome<Pin>> {
  const place = placeOf(repo.url);
  if (!place) return done(NONE);
  const ssh = isSsh(repo.url);
  const { host, port } = place;
  // To curl a name that begins with + or - says how it is to be pinned, and to a shell others say worse.
  if (!isAddress(host) && !USABLE.test(host))
    return stop(REPO.urlRefused, `repository address ${redactUrl(repo.url)} has no usable host`);
  const addresses = await safeAddresses(host, refusedFrom(host));
  if (addresses?.length === 0)
    return stop(REPO.urlRefused, `repository address ${redactUrl(repo.url)} leads to a refused address`);
  if (ssh && addresses) return overSsh(host, port, addresses);
  const proxy = ssh ? undefined : repo.proxy;
  if (!addresses && !proxy && (ssh || !PROXIES.some((name) => process.env[name])))
    return again(
      REPO.host,
      `the host of ${redactUrl(repo.url)}, ${host}, has no address; look at its spelling and at DNS`,
    );
  const config = addresses ? toAddresses(host, port, addresses) : [];
  if (!proxy) return done({ config, ssh: [] });
  const through = await proxyPin(repo, proxy);
  return through.kind === "done" ? done({ config: [...config, ...through.value], ssh: [] }) : through;
}

/** The key is known under the name, with the port where it is another one. */
function overSsh(host: string, port: string, addresses: string[]): Outcome<Pin> {
  if (isAddress(host)) return done(NONE);
  const alias = port === "22" ? host : `[${host}]:${port}`;
  return done({ config: [], ssh: ["-o", `HostName=${addresses[0]}`, "-o", `'HostKeyAlias=${alias}'`] });
}

async function proxyPin(repo: RepoAccess, proxy: string): Promise<Outcome<[string, string][]>> {
  const place = placeOf(proxy.includes("://") ? proxy : `http://${proxy}`);
  const addresses = place && (await safeAddresses(place.host, refusedFrom(place.host)));
  if (!place || addresses?.length === 0)
    return stop(REPO.urlRefused, `the proxy of ${redactUrl(repo.url)} is at a refused address`);
  if (!addresses)
    return again(REPO.unreachable, `the proxy of ${redactUrl(repo.url)} is not known by its name ${place.host}`);
  // A proxy's port is 1080 for git where none is given.
  return done(toAddresses(place.host, /:\d+\/*$/.test(proxy) ? place.port : "1080", addresses));
}

const isAddress = (host: string): boolean => isIP(host.replace(/^\[|\]$/g, "")) !== 0;

function toAddresses(host: string, port: string, addresses: string[]): [string, string][] {
  if (isAddress(host)) return [];
  const all = addresses.map((address) => (isIP(address) === 6 ? `[${address}]` : address)).join(",");
  return [["http.curloptResolve", `${host}:${port}:${all}`]];
}
