/** One spelling for addresses that mean the same repository, as Argo CD compares them. */
export function normalizeRepoUrl(url: string): string {
  const plain = url.trim().replace(/\.git$/i, "");
  const scp = /^(?:([^@/\s]+)@)?([^:/\s]+):(?!\/\/)(.*)$/.exec(plain);
  // `user@host:path` is another way to write ssh://user@host/path.
  if (scp && !plain.includes("://")) return `ssh://${scp[1] ? `${scp[1]}@` : ""}${scp[2]}/${scp[3]}`.toLowerCase();
  return plain.toLowerCase();
}

// What Go leaves in a path as it is given, and what it leaves when it has to escape one. Brackets and stars are in the first list alone.
const GIVEN_IN_PATH = /^(?:[A-Za-z0-9\-_.~!$&'()*+,;=:@/[\]]|%[0-9a-f]{2})*$/i;
const KEPT_IN_PATH = /[A-Za-z0-9\-_.~$&+,/:;=@]/;
const NO_HOST = /[\\{}^|`\s]/;

/**
 * An address as Go's parser of addresses writes it, which is what Argo CD compares. One letter that a path must not have as it is (`\`, `{`, a space)
 * makes it escape the whole path, and then no star or bracket in it is a pattern any more. Undefined for what it cannot read.
 */
export function asGoWrites(url: string): string | undefined {
  const [, before = "", path = "", after = ""] =
    /^((?:[a-z][a-z0-9+.-]*:)?(?:\/\/[^/?#]*)?)([^?#]*)(.*)$/is.exec(url) ?? [];
  if (NO_HOST.test(before)) return undefined;
  if (GIVEN_IN_PATH.test(path)) return url;
  if (/%(?![0-9a-f]{2})/i.test(path)) return undefined;
  // Byte by byte, as letters of other scripts have several.
  const bytes = Buffer.from(path, "utf8").toString("latin1");
  const plain = bytes.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return before + [...plain].map((byte) => (KEPT_IN_PATH.test(byte) ? byte : escaped(byte))).join("") + after;
}

const escaped = (byte: string): string => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`;

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
