import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
} from "node:crypto";
import { ed25519Signer, makeEd25519 } from "../../base/crypto/ed25519.ts";
import { canonical } from "../../base/json/canonical.ts";
import { Secret } from "../../base/secret.ts";
import type { SecretSource } from "../domain/webhook.ts";
import type { Database, Tx } from "../store/database/sql.ts";
import { writing } from "../store/database/writer.ts";
import {
  addServiceKey,
  lockServiceKeys,
  readServiceKeys,
  type ServiceKeyRow,
  wrapServiceKey,
} from "../store/identity/servicekeys.ts";
import { MasterKeys } from "./master.ts";

/** How long a worker may take to sign the nonce it was given. */
export const NONCE_SECONDS = 60;

/** How long nonces, task tokens and kept answers of the key before a rotation are still taken. */
const OVERLAP_MS = 60_000;

/** Workers follow at most so many from the key they know. */
const MAX_SUCCESSORS = 100;
const TOPIC = "service-key";

/** A key that the one before it has named as its successor. */
export interface Successor {
  from: string;
  to: string;
  signature: string;
}

/** The service's own key and the keys derived from it. All replicas load the same. */
export interface Signer {
  readonly keyId: string;
  readonly publicKey: string;
  /** First 32 characters of SHA-256 of the public key, base64url: part of tokens, so that workers know which service to trust. */
  readonly pin: string;
  /** From key to key up to the one that signs now. */
  readonly successors: readonly Successor[];
  /** Looks whether another replica has replaced the key. */
  refresh(): Promise<void>;
  /** Makes the key's successor, in the transaction of the caller; it signs from `refresh` on. */
  rotate(tx: Tx): Promise<{ keyId: string; publicKey: string }>;
  /** No longer waits to hear of other replicas. */
  close(): void;
  sign(text: string): string;
  /** A WorkerObject or WorkerTask as it goes out. */
  signed(body: unknown): { body: string; signature: string; keyId: string };
  makeNonce(nowMs: number): string;
  /** Whether the nonce is ours and young enough. That it counts once is the store's business. */
  fitsNonce(nonce: string, nowMs: number): boolean;
  /** The credential of one lease of a task. Made from the lease alone, so it is neither stored nor counted. */
  taskToken(lease: Lease): string;
  fitsTaskToken(lease: Lease, mac: string): boolean;
  /** The first of the service's keys: a webhook that names no key belongs to it. */
  readonly firstKeyId: string;
  /** Asks the store if one of these keys is not known yet, because another replica has made it. */
  learn(keys: readonly (string | undefined)[]): Promise<void>;
  /** The last part of a webhook's address, derived from its uid. It is not stored and cannot be guessed. Undefined when the key is not there. */
  hookId(hook: Hook, key?: string): string | undefined;
  /** Which webhook an address leads to and which key made it. Undefined when the service has not made the address. */
  openHookId(id: string): Promise<(Hook & { key: string }) | undefined>;
  /** What a host signs its calls with. Undefined when the key is not there. */
  hookSecret(hook: Hook, of: SecretSource): Secret | undefined;
  encrypt(key: string, text: string): Buffer;
  /** Undefined when it was kept under a key that has been replaced. */
  decrypt(key: string, data: Uint8Array): string | undefined;
}

/** What a task's token is bound to. */
export interface Lease {
  account: string;
  task: string;
  fence: number;
}

/** A webhook, named by what never changes of it. */
export interface Hook {
  account: string;
  uid: string;
}

export async function loadSigner(db: Database, account: string, master = new MasterKeys([])): Promise<Signer> {
  const wrapped = (key: ServiceKeyRow) => ({
    ...key,
    privateKey: key.privateKey && master.wrap(key.id, key.privateKey),
    hookKey: key.hookKey && master.wrap(hookRow(key.id), key.hookKey),
  });
  const opened = (rows: readonly ServiceKeyRow[]) =>
    rows.map((key) =>
      withHookKey({
        ...key,
        privateKey: key.privateKey && master.unwrap(key.id, key.privateKey),
        hookKey: key.hookKey && master.unwrap(hookRow(key.id), key.hookKey),
      }),
    );
  /** Whether a row must be stored again: under a newer master key, or with the hook key that older versions did not store. */
  const isStale = ({ privateKey, hookKey }: ServiceKeyRow) =>
    master.isStale(privateKey) || master.isStale(hookKey) || (privateKey !== "" && hookKey === "");
  // The key belongs to the service, not to an account.
  const rows = await writing(db, account, async (w) => {
    if ((await readServiceKeys(w)).length === 0) {
      await lockServiceKeys(w);
      if ((await readServiceKeys(w)).length === 0) await addServiceKey(w, wrapped(makeKey()), 0);
    }
    const found = await readServiceKeys(w);
    const clear = opened(found);
    for (const [i, row] of found.entries()) if (isStale(row)) await wrapServiceKey(w, wrapped(clear[i]!));
    return clear;
  });
  let ring = ringOf(rows);
  const look = async () => {
    const read = await readServiceKeys(db);
    // Of two reads under way the older must not win.
    if (read.length <= ring.length) return;
    const { derived } = ring;
    ring = { ...ringOf(opened(read)), before: { derived, until: Date.now() + OVERLAP_MS } };
  };
  // Anybody may greet, and each greeting looks: however many do, one look runs and one waits behind it.
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  const refresh = (): Promise<void> => {
    if (!running) {
      running = look().finally(() => {
        running = undefined;
      });
      return running;
    }
    next ??= running
      .catch(() => undefined)
      .then(() => {
        next = undefined;
        return refresh();
      });
    return next;
  };
  const rotate = async (tx: Tx) => {
    await lockServiceKeys(tx);
    const found = await readServiceKeys(tx);
    const before = opened(found);
    for (const [i, row] of found.entries()) if (isStale(row)) await wrapServiceKey(tx, wrapped(before[i]!));
    const next = makeKey();
    const old = ed25519Signer(new Secret(before.at(-1)!.privateKey));
    await addServiceKey(
      tx,
      { ...wrapped(next), statement: old(`outpost/successor/v1\n${next.publicKey}`) },
      before.length,
    );
    tx.notify(account, TOPIC);
    return { keyId: next.id, publicKey: next.publicKey };
  };
  // A missed notification is noticed at the next greeting or sweep.
  const close = db.listen(account, TOPIC, () => void refresh().catch(() => undefined));
  const learn = async (keys: readonly (string | undefined)[]) => {
    if (keys.some((key) => key !== undefined && !ring.hooks.has(key))) await refresh();
  };
  return makeSigner(() => ring, { refresh, rotate, learn, close });
}

function makeKey(): ServiceKeyRow {
  const { publicKey, seed } = makeEd25519();
  return withHookKey({
    id: createHash("sha256").update(publicKey).digest("hex").slice(0, 16),
    publicKey,
    privateKey: seed.reveal(),
    hookKey: "",
    statement: "",
  });
}

/** Row name for the master key, so that a hook key cannot take the place of a private key. */
const hookRow = (id: string): string => `${id}/webhooks`;

/** The key with its hook key: derived from the private key, which goes when the key has a successor. */
function withHookKey(key: ServiceKeyRow): ServiceKeyRow {
  if (key.hookKey !== "" || key.privateKey === "") return key;
  const seed = new Secret(key.privateKey);
  return {
    ...key,
    hookKey: Buffer.concat([hkdf(seed, "webhook"), hkdf(seed, "webhook-secret")]).toString("base64url"),
  };
}

/** The two keys in a stored hook key. */
interface HookKeys {
  address: Buffer;
  secret: Buffer;
}

function hookKeysOf(stored: string): HookKeys {
  const bytes = Buffer.from(stored, "base64url");
  return { address: bytes.subarray(0, 32), secret: bytes.subarray(32, 64) };
}

/** The key that signs, and how it came to that. */
interface Ring extends Pick<Signer, "keyId" | "publicKey" | "pin" | "successors" | "sign"> {
  length: number;
  derived: Derived;
  firstKeyId: string;
  /** By the id of the service's key. */
  hooks: ReadonlyMap<string, HookKeys>;
  /** Values of the former key are accepted for a short time: other replicas learn of the new one a little later. */
  before?: { derived: Derived; until: number };
}

/** Keys derived from the current signing key; they change with it. */
interface Derived {
  nonceMac(text: string): string;
  taskMac(lease: Lease): string;
  answerKey(extra: string): Buffer;
}

const hkdf = (seed: Secret, purpose: string, extra = "") =>
  Buffer.from(hkdfSync("sha256", seed.reveal() + extra, "outpost", purpose, 32));

function derivedFrom(seed: Secret): Derived {
  const [nonceKey, taskKey] = [hkdf(seed, "nonce"), hkdf(seed, "task-token")];
  return {
    nonceMac: (text) => createHmac("sha256", nonceKey).update(text).digest("base64url").slice(0, 32),
    taskMac: ({ account, task, fence }) =>
      createHmac("sha256", taskKey).update(`${account}\n${task}\n${fence}`).digest("base64url"),
    answerKey: (extra) => hkdf(seed, "answer", extra),
  };
}

const equal = (want: string, given: string): boolean => {
  const [a, b] = [Buffer.from(want), Buffer.from(given)];
  return a.length === b.length && timingSafeEqual(a, b);
};

function ringOf(rows: readonly ServiceKeyRow[]): Ring {
  const { id, publicKey, privateKey } = rows.at(-1)!;
  const links = rows
    .slice(1)
    .map(({ publicKey: to, statement }, i) => ({ from: rows[i]!.publicKey, to, signature: statement }));
  return {
    length: rows.length,
    firstKeyId: rows[0]!.id,
    hooks: new Map(rows.filter(({ hookKey }) => hookKey !== "").map((row) => [row.id, hookKeysOf(row.hookKey)])),
    derived: derivedFrom(new Secret(privateKey)),
    keyId: id,
    publicKey,
    pin: createHash("sha256").update(Buffer.from(publicKey, "base64url")).digest("base64url").slice(0, 32),
    successors: links.slice(-MAX_SUCCESSORS),
    sign: ed25519Signer(new Secret(privateKey)),
  };
}

// Addresses that the first key made do not name it: hosts have them from before there were others.
const ADDRESS = /^([a-z0-9-]{1,63})_(?:([0-9a-f]{16})_)?([A-Za-z0-9_-]{43})$/;

/**
 * Nonces, task tokens and kept answers come from the key that signs now. Address and secret of a webhook come from the key that the webhook names:
 * hosts have them, so they stay when the service's key is replaced and change when the webhook is rotated.
 */
function makeSigner(ring: () => Ring, more: Pick<Signer, "refresh" | "rotate" | "learn" | "close">): Signer {
  /** The current derived keys, and for a short time the former ones. */
  const taken = (): Derived[] => {
    const { derived, before } = ring();
    return before && before.until > Date.now() ? [derived, before.derived] : [derived];
  };
  const hookId = ({ account, uid }: Hook, key = ring().firstKeyId) => {
    const keys = ring().hooks.get(key);
    if (!keys) return undefined;
    const name = Buffer.from(uid.replaceAll("-", ""), "hex");
    const proof = createHmac("sha256", keys.address).update(`${account}\n${uid}`).digest().subarray(0, 16);
    const data = Buffer.concat([name, proof]).toString("base64url");
    return key === ring().firstKeyId ? `${account}_${data}` : `${account}_${key}_${data}`;
  };
  return {
    ...more,
    get keyId() {
      return ring().keyId;
    },
    get publicKey() {
      return ring().publicKey;
    },
    get pin() {
      return ring().pin;
    },
    get successors() {
      return ring().successors;
    },
    sign: (text) => ring().sign(text),
    signed(value) {
      const body = canonical(value);
      const { sign, keyId } = ring();
      return { body, signature: sign(`outpost/signed/v1\n${body}`), keyId };
    },
    makeNonce(nowMs) {
      const text = `${nowMs.toString(36)}.${randomBytes(16).toString("base64url")}`;
      return `${text}.${ring().derived.nonceMac(text)}`;
    },
    fitsNonce(nonce, nowMs) {
      const at = nonce.lastIndexOf(".");
      if (at < 0 || !taken().some(({ nonceMac }) => equal(nonceMac(nonce.slice(0, at)), nonce.slice(at + 1))))
        return false;
      const made = Number.parseInt(nonce.slice(0, nonce.indexOf(".")), 36);
      return made <= nowMs + 1_000 && nowMs - made <= NONCE_SECONDS * 1_000;
    },
    taskToken: (lease) => `ott_${lease.account}_${lease.task}_${lease.fence}_${ring().derived.taskMac(lease)}`,
    fitsTaskToken(lease, given) {
      return taken().some(({ taskMac }) => equal(taskMac(lease), given));
    },
    hookId,
    get firstKeyId() {
      return ring().firstKeyId;
    },
    async openHookId(id) {
      const [, account, key = ring().firstKeyId, data] = ADDRESS.exec(id) ?? [];
      if (!account || !data) return undefined;
      await more.learn([key]);
      const uid = Buffer.from(data, "base64url")
        .toString("hex")
        .slice(0, 32)
        .replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
      const want = hookId({ account, uid }, key);
      return want !== undefined && equal(want, id) ? { account, uid, key } : undefined;
    },
    hookSecret({ account, uid }, { key = ring().firstKeyId, version, rotation }) {
      const keys = ring().hooks.get(key);
      // A secret that was never rotated has the text of the versions that could not rotate.
      const text = rotation === 0 ? `${account}\n${uid}\n${version}` : `${account}\n${uid}\n${version}\n${rotation}`;
      return keys && new Secret(createHmac("sha256", keys.secret).update(text).digest("base64url"));
    },
    // AES-256-GCM under a key from the client's text and ours: a dump of the store alone opens nothing.
    encrypt(key, text) {
      const iv = randomBytes(12);
      const cipher = createCipheriv("aes-256-gcm", ring().derived.answerKey(key), iv);
      const data = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
      return Buffer.concat([iv, cipher.getAuthTag(), data]);
    },
    decrypt(key, data) {
      const bytes = Buffer.from(data);
      for (const { answerKey } of taken())
        try {
          const decipher = createDecipheriv("aes-256-gcm", answerKey(key), bytes.subarray(0, 12));
          decipher.setAuthTag(bytes.subarray(12, 28));
          return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString("utf8");
        } catch {
          // It was kept under another key.
        }
      return undefined;
    },
  };
}
