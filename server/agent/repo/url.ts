import { isMetadata } from "../../base/cloud/address.ts";
import { done, type Outcome, stop } from "../../base/outcome.ts";
import { Secret } from "../../base/secret.ts";
import { REPO, type RepoAccess } from "./types.ts";

// scp's short form: git@host:path. A single letter before the colon would be a Windows drive.
const SCP = /^(?:([A-Za-z0-9._-]+)@)?([A-Za-z0-9][A-Za-z0-9.-]+):(?!\/\/)(.+)$/;
// What ends up in arguments, environment and prompts must not contain a control character or a blank.
const UNSAFE = /[\p{Cc}\s]/gu;

/** Hosts of Azure DevOps. */
export const AZURE_DEVOPS = /^(dev\.azure\.com|[a-z0-9-]+\.visualstudio\.com)$/i;

/**
 * The address, all that lets one in, and the way there: what one may read, another one with the same address may not, and what one was told
 * through a proxy of his own is not what the host said.
 */
export function identityOf(repo: RepoAccess) {
  const {
    password,
    sshPrivateKey,
    bearerToken,
    tlsClientCertKey,
    githubAppPrivateKey,
    gcpServiceAccountKey,
    azurePrincipalSecret,
  } = repo;
  const secrets = [password, sshPrivateKey, bearerToken, tlsClientCertKey, githubAppPrivateKey].map(
    (secret) => secret?.reveal() ?? "",
  );
  const { url, username = "", githubApp = "", azureWorkloadIdentity, azurePrincipal = "" } = repo;
  // Only where there are some: folders that older versions made keep their names.
  const clouds = gcpServiceAccountKey || azureWorkloadIdentity || azurePrincipal;
  const more = clouds
    ? [
        gcpServiceAccountKey?.reveal() ?? "",
        azureWorkloadIdentity ?? false,
        azurePrincipal,
        azurePrincipalSecret?.reveal() ?? "",
      ]
    : [];
  const { proxy, noProxy, insecure, insecureIgnoreHostKey, forceHttp, trust } = repo;
  const way = proxy || noProxy || insecure || insecureIgnoreHostKey || forceHttp || trust;
  const there = way
    ? [
        {
          proxy,
          noProxy,
          insecure: insecure === true,
          ignore: insecureIgnoreHostKey === true,
          plain: forceHttp === true,
          trust,
        },
      ]
    : [];
  return [url, username, githubApp, ...secrets, ...more, ...there];
}

export interface UrlPolicy {
  /** `file://` and plain paths, for tests alone: they read this machine's files. */
  allowLocal?: boolean;
}

/** Checks a Git address and takes credentials out of it: what remains is safe to show and to pass to git after `--`. */
export function gitAccess(repo: RepoAccess, policy: UrlPolicy = {}): Outcome<RepoAccess> {
  const { url } = repo;
  if (repo.refused) return stop(repo.refused.reason, repo.refused.message);
  // A password may have blanks, and a text with one is no address any more to what takes passwords away.
  const refuse = (why: string) =>
    stop(REPO.urlRefused, `repository address ${redactUrl(url.replace(UNSAFE, "␣"))} ${why}`);
  if (!url || url.length > 2_048 || url.startsWith("-")) return refuse("is not a URL");
  if (url.search(UNSAFE) >= 0) return refuse("has a blank or a control character in it (␣)");
  if (policy.allowLocal && (url.startsWith("/") || url.startsWith("file:///"))) return done(repo);
  if (!url.includes("://") && !url.includes("::")) {
    const scp = SCP.exec(url);
    if (!scp || scp[3]!.startsWith("-")) return refuse("is neither a URL nor user@host:path");
    return isMetadata(scp[2]!) ? refuse("is at a refused address") : done(repo);
  }
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch {
    return refuse("is not a URL");
  }
  if (!["https:", "http:", "ssh:"].includes(parsed.protocol))
    return refuse("must begin with https://, http:// or ssh://");
  if (isMetadata(parsed.hostname)) return refuse("is at a refused address");
  if (!parsed.hostname || parsed.hostname.startsWith("-")) return refuse("has no host");
  if (parsed.protocol === "ssh:") return done(repo);
  const { username, password: inUrl } = parsed;
  parsed.username = parsed.password = "";
  const [name, secret] = [decoded(username), decoded(inUrl)];
  if (name === undefined || secret === undefined)
    return refuse("has a user or a password with a % that stands for nothing; write %25");
  const password = repo.password ?? (secret ? new Secret(secret) : undefined);
  // The addresses that Azure DevOps shows have the organisation there: without a password it is not a user name.
  const user = !password && AZURE_DEVOPS.test(parsed.hostname) ? "" : name;
  return done({ ...repo, url: parsed.href, username: repo.username ?? (user || undefined), password });
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** The host and port that an address is about; undefined for a plain path. */
export function placeOf(url: string): { host: string; port: string } | undefined {
  const scp = url.includes("://") ? undefined : SCP.exec(url);
  if (scp) return { host: scp[2]!, port: "22" };
  if (!URL.canParse(url)) return undefined;
  const { protocol, hostname, port } = new URL(url);
  const usual: Record<string, string> = { "http:": "80", "https:": "443", "ssh:": "22" };
  return hostname ? { host: hostname, port: port || usual[protocol] || "" } : undefined;
}

export const isOci = ({ type, url }: RepoAccess): boolean => type === "oci" || url.startsWith("oci://");

export const isSsh = (url: string): boolean => url.startsWith("ssh://") || (!url.includes("://") && SCP.test(url));

/** Whether a server may read the path as another one, above the beginning that credentials are for. */
export const isCrooked = (url: string): boolean => /%(2e|2f|5c|25)/i.test(url) || /(^|[/:\\])\.\.([/\\]|$)/.test(url);

// No scheme is longer; without a bound a long word would be read from each of its letters on.
const ADDRESS = /([a-z][a-z0-9+.-]{0,30}:\/\/)((?:(?![a-z][a-z0-9+.-]{0,30}:\/\/)\S)+)/gi;

/**
 * The same text without user information, query values and fragments in any URL it holds. A password may have quotes and an @, and one that was
 * not encoded a slash: of a text that is no address nothing before its last @ is shown.
 */
export function redactUrl(text: string): string {
  return text
    .replace(ADDRESS, (_, scheme: string, rest: string) => {
      const end = URL.canParse(scheme + rest) ? rest.search(/[/?#]|$/) : rest.length;
      const at = rest.lastIndexOf("@", end - 1);
      return scheme + (at < 0 ? rest : `***${rest.slice(at)}`);
    })
    .replace(/([?&;#][^=\s&;#'"]{1,100}=)[^&;#\s'"]+/g, "$1***");
}

/** One name for the spellings of an address: case of the host, a trailing `.git` or slash. Used to find a repository's credentials. */
export function normaliseUrl(url: string): string {
  const trimmed = url
    .trim()
    .replace(/(?<!\/)\/+$/, "")
    .replace(/\.git$/, "");
  try {
    const { protocol, host, pathname, username } = new URL(trimmed);
    return `${protocol}//${protocol === "ssh:" && username ? `${username}@` : ""}${host.toLowerCase()}${pathname}`;
  } catch {
    const scp = SCP.exec(trimmed);
    return scp ? `ssh://${scp[1] ?? "git"}@${scp[2]!.toLowerCase()}/${scp[3]!.replace(/^\/+/, "")}` : trimmed;
  }
}
