import { once } from "node:events";
import { promisify } from "node:util";
import { createGzip, gzip } from "node:zlib";

/** The version of the cache's format, part of every key. Argo CD 3.5 reads this one; entries of another version are unseen, never misread. */
export const CACHE_VERSION = "1.8.3";

export type Compression = "gzip" | "none";

export const treeKey = (app: string, shard = 0): string => `app|resources-tree|${app}${shard > 0 ? `|${shard}` : ""}`;
export const managedKey = (app: string): string => `app|managed-resources|${app}`;
export const clusterKey = (server: string): string => `cluster|info|${server}`;

/** The key in Redis. */
export const storedKey = (key: string, compression: Compression): string =>
  `${key}|${CACHE_VERSION}${compression === "gzip" ? ".gz" : ""}`;
/** The channel that tells readers of an application's new tree. It never has the ending of compressed keys. */
export const channelOf = (app: string): string => `${managedKey(app)}|${CACHE_VERSION}`;

const pack = promisify(gzip);

export const encode = async (value: unknown, compression: Compression): Promise<Buffer> => {
  const text = `${JSON.stringify(value)}\n`;
  return compression === "gzip" ? pack(text) : Buffer.from(text);
};

/** More than this is not sent: Redis takes half a gigabyte, and readers hold an entry several times. */
export const MAX_ENTRY = 64 * 1024 * 1024;

/** Encodes a list piece by piece, so that only its compressed form is held. Undefined when it is too large. */
export async function encodeList(items: AsyncIterable<unknown>, compression: Compression): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  const take = (chunk: Buffer) => {
    size += chunk.length;
    if (size <= MAX_ENTRY) chunks.push(chunk);
    else chunks.length = 0;
  };
  const zip = compression === "gzip" ? createGzip() : undefined;
  zip?.on("data", take);
  // An error without a listener would end the program; the end below would never come.
  const ended = zip && Promise.race([once(zip, "end"), once(zip, "error").then(([error]) => Promise.reject(error))]);
  ended?.catch(() => undefined);
  const write = async (text: string) => {
    if (!zip) take(Buffer.from(text));
    else if (!zip.write(text)) await Promise.race([once(zip, "drain"), ended]);
  };
  try {
    let first = true;
    for await (const item of items) {
      await write(`${first ? "[" : ","}${JSON.stringify(item)}`);
      first = false;
      if (size > MAX_ENTRY) return undefined;
    }
    await write(first ? "[]\n" : "]\n");
    zip?.end();
    await ended;
  } finally {
    zip?.destroy();
  }
  return size > MAX_ENTRY ? undefined : Buffer.concat(chunks);
}
