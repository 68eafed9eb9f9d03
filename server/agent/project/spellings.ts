/** One spelling for addresses that mean the same repository, as Argo CD compares them. */
export function normalizeRepoUrl(url: string): string {
  const plain = url.trim().replace(/\.git$/i, "");
  const scp = /^(?:([^@/\s]+)@)?([^:/\s]+):(?!\/\/)(.*)$/.exec(plain);
  // `user@host:path` is another way to write ssh://user@host/path.
  if (scp && !plain.includes("://")) return `ssh://${scp[1] ? `${scp[1]}@` : ""}${scp[2]}/${scp[3]}`.toLowerCase();
  return plain.toLowerCase();
}

/**
 * The ways to write an address that lead to the same repository: as it is given, and without what a server reads past (user, password, default
 * port, the dot after a host, repeated and last slashes, letters as `%73`). What forbids or demands something must look at each of them, or it
 * is got rid of by another spelling.
 */
export function spellingsOf(repoUrl: string): string[] {
  const given = normalizeRepoUrl(repoUrl);
  const plain = plainly(given);
  return [...new Set([given, plain.withUser, plain.place])];
}

/** The same pattern, and without the user of its SSH address: `root@host:a` is as forbidden as `git@host:a`. */
export function spellingsOfPattern(pattern: string): string[] {
  const given = normalizeRepoUrl(pattern);
  return [...new Set([given, given.replace(/^ssh:\/\/[^@/]*@/, "ssh://")])];
}

const PORTS: Readonly<Record<string, string>> = { "http:": "80", "https:": "443", "oci:": "443", "ssh:": "22" };

function plainly(url: string): { withUser: string; place: string } {
  const scheme = /^[a-z][a-z0-9+.-]*:/.exec(url)?.[0] ?? "";
  // A parser of web addresses takes hosts in any script for what they are; of other schemes it leaves them.
  const asWeb = PORTS[scheme] ? url.replace(scheme, "https:") : url;
  if (!URL.canParse(asWeb)) return { withUser: url, place: url };
  // The parser has dropped 443 already, which is a real port of ssh.
  const port =
    scheme === "ssh:" || scheme === "http:" ? /^[^/]*\/\/[^/]*:(\d+)(?:[/?#]|$)/.exec(url)?.[1] : new URL(asWeb).port;
  const { hostname, username, pathname } = new URL(asWeb);
  const host = hostname.replace(/\.$/, "") + (port && port !== PORTS[scheme] ? `:${port}` : "");
  const path = decoded(pathname)
    .replace(/\/{2,}/g, "/")
    .replace(/\/$/, "")
    .replace(/\.git$/, "");
  const user = scheme === "ssh:" && username ? `${username}@` : "";
  const [withUser, place] = [user, ""].map((who) => `${scheme}//${who}${host}${path}`.toLowerCase());
  return { withUser: withUser!, place: place! };
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
