/** Hosts of the same repositories: another way in through a firewall, or the registry behind a name that people use. */
const ALIASES: Record<string, string> = {
  "ssh.github.com": "github.com",
  "altssh.gitlab.com": "gitlab.com",
  "altssh.bitbucket.org": "bitbucket.org",
  "registry-1.docker.io": "docker.io",
  "index.docker.io": "docker.io",
  "registry.hub.docker.com": "docker.io",
  "hub.docker.com": "docker.io",
};
// The port of a Git host's ssh says nothing about the repository; that of http tells servers apart.
const WITHOUT_PORT = new Set(["ssh:", "git+ssh:", "git:"]);
const SCHEMES = new Set(["https:", "http:", "oci:", ...WITHOUT_PORT]);

/**
 * One name for all addresses of a repository: https, ssh, scp's short form and `oci://`, with and without `.git`, whatever the case.
 * Two repositories may share a name where a host tells them apart by case alone; so it is good for a hint, not for a right. Nothing
 * when the text is no address.
 */
export function repositoryKey(address: string): string | undefined {
  const text = address.trim();
  if (!text || text.length > 2_048 || /[\s\p{Cc}]/u.test(text)) return undefined;
  const [host, path] = text.includes("://") ? ofUrl(text) : ofShort(text);
  if (!host || !path) return undefined;
  const name = ALIASES[host] ?? host;
  const parts = trimmed(path.toLowerCase()).split("/").filter(Boolean);
  if (parts.length === 0) return undefined;
  return azure(name, parts) ?? `${name}/${own(parts).join("/")}`;
}

/** Whether two addresses mean the same repository. */
export const sameRepository = (a: string, b: string): boolean => (repositoryKey(a) ?? a) === (repositoryKey(b) ?? b);

/** The repository one level up: a chart in a registry is asked for by it and the chart's name. */
export function parentKey(key: string): string | undefined {
  const at = key.lastIndexOf("/");
  return at > 0 && key.indexOf("/") !== at ? key.slice(0, at) : undefined;
}

function ofUrl(text: string): [string, string] | [] {
  const url = URL.parse(text);
  if (!url || !SCHEMES.has(url.protocol)) return [];
  const host = url.hostname.toLowerCase();
  return [url.port && !WITHOUT_PORT.has(url.protocol) ? `${host}:${url.port}` : host, url.pathname];
}

/** `git@host:path`, or a registry's `host/path` and `host:port/path`. */
function ofShort(text: string): [string, string] | [] {
  const at = text.indexOf("@");
  const rest = text.slice(at + 1);
  const colon = rest.indexOf(":");
  const slash = rest.indexOf("/");
  if (colon > 0 && (slash < 0 || colon < slash)) {
    const port = at < 0 && slash > 0 && /^[0-9]{1,5}$/.test(rest.slice(colon + 1, slash));
    if (!port) return [rest.slice(0, colon).toLowerCase(), rest.slice(colon + 1)];
  }
  const host = rest.slice(0, slash).toLowerCase();
  return at < 0 && slash > 0 && /[.:]|^localhost$/.test(host) ? [host, rest.slice(slash)] : [];
}

/** Without the slashes around it and `.git` behind it; no expression with a repetition at the end, which text of many slashes would make slow. */
function trimmed(path: string): string {
  let end = path.length;
  while (end > 0 && path[end - 1] === "/") end--;
  return path.slice(0, end).endsWith(".git") ? path.slice(0, end - 4) : path.slice(0, end);
}

/** Bitbucket Data Center has `/scm/<project>/<repository>` for Git and `/projects/<project>/repos/<repository>` for people. */
function own(parts: string[]): string[] {
  const scm = parts.indexOf("scm");
  if (scm >= 0 && parts.length === scm + 3) return parts.slice(scm + 1);
  const projects = parts.findIndex((part) => part === "projects" || part === "users");
  if (projects >= 0 && parts[projects + 2] === "repos" && parts[projects + 3])
    return [(parts[projects] === "users" ? "~" : "") + parts[projects + 1], parts[projects + 3]!];
  return parts;
}

/** Azure DevOps: `dev.azure.com/<organisation>/<project>/_git/<repository>`, older `<organisation>.visualstudio.com/…`, ssh `v3/…`. */
function azure(host: string, parts: string[]): string | undefined {
  if ((host === "ssh.dev.azure.com" || host === "vs-ssh.visualstudio.com") && parts[0] === "v3")
    return `dev.azure.com/${parts.slice(1).join("/")}`;
  const git = parts.indexOf("_git");
  if (git < 0 || !parts[git + 1]) return undefined;
  const old = host.endsWith(".visualstudio.com") ? [host.slice(0, -".visualstudio.com".length)] : [];
  if (!old.length && host !== "dev.azure.com") return undefined;
  const before = [...old, ...parts.slice(0, git).filter((part) => part !== "defaultcollection")];
  // A project's repository of the same name may be written without the project.
  const project = before.length < 2 ? [parts[git + 1]!] : [];
  return ["dev.azure.com", ...before, ...project, parts[git + 1]].join("/");
}
