import type { IncomingHttpHeaders } from "node:http";
import { repositoryKey } from "../../../base/repository-key.ts";

/** What a call says: where something changed. All of it is a hint; nothing of it is believed. */
export interface Notice {
  /** Addresses of the repository, one of each name. */
  urls: string[];
  refs: string[];
  revision?: string;
}

/** A call whose signature was found to be good, parsed. */
export interface Told {
  headers: IncomingHttpHeaders;
  payload: unknown;
}

/** What a provider makes of a call: nothing of interest, something that names no repository, or a notice. */
export type Reading = Notice | "ignored" | "unreadable";

// One event of a host names three or four addresses and a few refs; more would only be looked at.
const MOST_URLS = 16;
const MOST_REFS = 16;
const MOST_ITEMS = 100;

/** The value at a path of own members; whatever is there may be of any type. */
export function at(value: unknown, ...path: string[]): unknown {
  let here = value;
  for (const name of path) {
    if (here === null || typeof here !== "object" || !Object.hasOwn(here, name)) return undefined;
    here = (here as Record<string, unknown>)[name];
  }
  return here;
}

export function text(value: unknown, ...path: string[]): string | undefined {
  const found = at(value, ...path);
  return typeof found === "string" && found !== "" && found.length <= 2_048 && !/\p{Cc}/u.test(found)
    ? found
    : undefined;
}

export function list(value: unknown, ...path: string[]): unknown[] {
  const found = at(value, ...path);
  return Array.isArray(found) ? found.slice(0, MOST_ITEMS) : [];
}

/** A header that is there once. */
export function header({ headers }: Pick<Told, "headers">, name: string): string | undefined {
  const value = headers[name];
  return typeof value === "string" ? value : undefined;
}

/** Puts a notice together from whatever was found; what is no address, ref or commit is left out. */
export function notice(
  addresses: readonly (string | undefined)[],
  { refs = [], revision }: { refs?: readonly (string | undefined)[]; revision?: string | undefined } = {},
): Reading {
  const byKey = new Map<string, string>();
  for (const address of addresses.slice(0, 4 * MOST_URLS)) {
    const key = address === undefined ? undefined : repositoryKey(address);
    if (key !== undefined && !byKey.has(key) && byKey.size < MOST_URLS) byKey.set(key, withoutUser(address!));
  }
  if (byKey.size === 0) return "unreadable";
  const named = [
    ...new Set(refs.filter((ref) => ref !== undefined && ref.length <= 256 && !/[\s\p{Cc}]/u.test(ref))),
  ] as string[];
  return {
    urls: [...byKey.values()],
    refs: named.slice(0, MOST_REFS),
    ...(revision && isCommit(revision) ? { revision } : {}),
  };
}

/** `oci://` and an image's name without its tag and digest. */
export function image(name: string): string {
  const plain = name.replace(/^(oci|docker|https?):\/\//, "").split("@")[0]!;
  const colon = plain.lastIndexOf(":");
  return `oci://${colon > plain.lastIndexOf("/") ? plain.slice(0, colon) : plain}`;
}

// A deleted ref is told as a commit of zeros.
const isCommit = (revision: string): boolean =>
  /^([0-9a-f]{40}|[0-9a-f]{64})$/.test(revision) && !/^0+$/.test(revision);

/** An address goes into a status and to agents, and a host may have put a name and a password into it. */
function withoutUser(address: string): string {
  const url = address.includes("://") ? URL.parse(address) : null;
  if (!url) return address.trim();
  if (url.protocol !== "ssh:") url.username = "";
  url.password = url.search = url.hash = "";
  return url.href;
}
