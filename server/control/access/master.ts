import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto";
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { Secret } from "../../base/secret.ts";

/** `w1.ID.DATA`: the master key that wraps it, and IV, tag and ciphertext of AES-256-GCM. A seed in clear has no dot. */
const WRAPPED = /^w1\.([0-9a-f]{16})\.([A-Za-z0-9_-]+)$/;

/** The service's own keys cannot be read; the message says what to do. */
export class MasterKeyError extends Error {}

/**
 * Keys from outside of the database that wrap the service's own keys in it. The first one wraps, each unwraps: put a new key in front of the old one,
 * restart, and the rows are wrapped again; then the old one can go.
 */
export class MasterKeys {
  readonly #keys: { id: string; key: Secret }[];

  constructor(keys: readonly Buffer[]) {
    this.#keys = keys.map((key) => ({
      id: createHash("sha256").update("outpost/master-key/v1\n").update(key).digest("hex").slice(0, 16),
      key: new Secret(key.toString("base64")),
    }));
  }

  get some(): boolean {
    return this.#keys.length > 0;
  }

  /** Wraps a private key for the row with this identity; without a master key it stays as it is. */
  wrap(row: string, text: string): string {
    const [first] = this.#keys;
    if (!first) return text;
    const iv = randomBytes(12);
    const cipher = createCipheriv("aes-256-gcm", Buffer.from(first.key.reveal(), "base64"), iv).setAAD(aadOf(row));
    const data = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
    return `w1.${first.id}.${Buffer.concat([iv, cipher.getAuthTag(), data]).toString("base64url")}`;
  }

  /** @throws MasterKeyError when no key here opens it, or it is another row's. */
  unwrap(row: string, stored: string): string {
    if (!stored.includes(".")) return stored;
    const [, id, data = ""] = WRAPPED.exec(stored) ?? [];
    const found = this.#keys.find((one) => one.id === id);
    if (!found)
      throw new MasterKeyError(
        `the service's key in the database is wrapped by the master key ${id ?? "of a newer version"}, which is not given: set OUTPOST_MASTER_KEY_FILE to the file that has it`,
      );
    const bytes = Buffer.from(data, "base64url");
    try {
      const decipher = createDecipheriv(
        "aes-256-gcm",
        Buffer.from(found.key.reveal(), "base64"),
        bytes.subarray(0, 12),
      );
      decipher.setAAD(aadOf(row)).setAuthTag(bytes.subarray(12, 28));
      return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString("utf8");
    } catch {
      throw new MasterKeyError(
        `the service's key ${row} in the database was changed: restore the table service_keys from a backup`,
      );
    }
  }

  /** Whether a stored key should be wrapped again: it is in clear, or under an older master key. */
  isStale(stored: string): boolean {
    return stored !== "" && this.#keys[0] !== undefined && WRAPPED.exec(stored)?.[1] !== this.#keys[0].id;
  }
}

const aadOf = (row: string) => Buffer.from(`outpost/service-key/v1\n${row}`);

/**
 * Keys from a text: one a line, each of 32 bytes as base64, base64url or hexadecimal digits; lines that begin with # are comments.
 * @throws MasterKeyError that shows nothing of the text
 */
export function parseMasterKeys(text: string, from: string): MasterKeys {
  const lines = text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line && !line.startsWith("#"));
  const keys = lines.map((line, i) => {
    const bytes = /^[0-9a-fA-F]{64}$/.test(line)
      ? Buffer.from(line, "hex")
      : Buffer.from(line, /[-_]/.test(line) ? "base64url" : "base64");
    if (bytes.length !== 32 || !/^[A-Za-z0-9+/_=-]+$/.test(line))
      throw new MasterKeyError(
        `line ${i + 1} of ${from} is not a key of 32 bytes; make one with: head -c 32 /dev/urandom | base64`,
      );
    return bytes;
  });
  if (keys.length === 0)
    throw new MasterKeyError(`${from} has no key; make one with: head -c 32 /dev/urandom | base64`);
  return new MasterKeys(keys);
}

export interface MasterKeySettings {
  /** OUTPOST_MASTER_KEY. */
  text?: string | undefined;
  /** OUTPOST_MASTER_KEY_FILE. */
  file?: string | undefined;
}

/**
 * The master keys of the settings. `ownFile` is where an installation with the embedded store keeps one of its own, made at the first start; nothing
 * else makes a key, because every replica needs the same one.
 * @throws MasterKeyError
 */
export async function loadMasterKeys(
  { text, file }: MasterKeySettings,
  ownFile?: string,
): Promise<{ keys: MasterKeys; made?: string }> {
  if (text && file) throw new MasterKeyError("set one of OUTPOST_MASTER_KEY and OUTPOST_MASTER_KEY_FILE, not both");
  if (text) return { keys: parseMasterKeys(text, "OUTPOST_MASTER_KEY") };
  if (file) return { keys: parseMasterKeys(await read(file), `OUTPOST_MASTER_KEY_FILE (${file})`) };
  if (!ownFile) return { keys: new MasterKeys([]) };
  const kept = await readFile(ownFile, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw new MasterKeyError(`the master key ${ownFile} cannot be read: ${error.message}`);
  });
  if (kept !== undefined) return { keys: parseMasterKeys(kept, ownFile) };
  const made = randomBytes(32);
  await mkdir(dirname(ownFile), { recursive: true, mode: 0o700 });
  await writeFile(ownFile, `${made.toString("base64")}\n`, { mode: 0o600, flag: "wx" });
  await chmod(ownFile, 0o600);
  return { keys: new MasterKeys([made]), made: ownFile };
}

async function read(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    throw new MasterKeyError(`OUTPOST_MASTER_KEY_FILE cannot be read: ${(error as Error).message}`);
  }
}
