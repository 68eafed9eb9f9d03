import { createHash } from "node:crypto";
import { done, type Outcome, stop } from "../outcome.ts";

/** What an OpenPGP public key says of itself. Nothing here checks a signature; gpg verifies with the key. */
export interface PublicKey {
  /** In capitals; the key's id is its last sixteen digits. */
  fingerprint: string;
  keyId: string;
  /** As people know it: `RSA 4096`, `Ed25519`. */
  algorithm: string;
  createdAt: Date;
  expiresAt?: Date;
  /** The key carries a revocation of itself. */
  revoked: boolean;
  /** The primary user id, else the first one: `Name <address>`. */
  owner?: string;
  /** Ids of the subkeys, by which a commit may be signed too. */
  subkeys: string[];
}

/** Constant reasons. */
export const PGP = {
  armour: "ArmourInvalid",
  packet: "PacketInvalid",
  several: "SeveralKeys",
  secret: "SecretKey",
  version: "KeyVersionUnknown",
} as const;

const BEGIN = /^-----BEGIN PGP ([A-Z ]+)-----$/;
// A key with a thousand signatures has a few hundred KiB; more packets than this are no key but an attempt to keep us busy.
const MAX_TEXT = 1024 * 1024;
const MAX_PACKETS = 4_096;

/** Reads one armoured public key, as `gpg --armor --export KEY` writes it. */
export function parsePublicKey(text: string): Outcome<PublicKey> {
  const bytes = unarmour(text);
  if (bytes.kind !== "done") return bytes;
  const packets = split(bytes.value);
  return packets.kind === "done" ? read(packets.value) : packets;
}

function unarmour(text: string): Outcome<Buffer> {
  if (text.length > MAX_TEXT) return stop(PGP.armour, "the key is larger than 1 MiB");
  const lines = text.split(/\r?\n/).map((line) => line.trimEnd());
  const begins = lines.flatMap((line, i) => (BEGIN.test(line.trim()) ? [i] : []));
  const first = begins[0];
  if (first === undefined) return stop(PGP.armour, "it has no line `-----BEGIN PGP PUBLIC KEY BLOCK-----`");
  const kind = BEGIN.exec(lines[first]!.trim())![1]!;
  if (kind.includes("PRIVATE"))
    return stop(PGP.secret, "it is a private key: export the public one by `gpg --armor --export`");
  if (kind !== "PUBLIC KEY BLOCK") return stop(PGP.armour, `it is a ${kind.toLowerCase()}, not a public key block`);
  if (begins.length > 1) return stop(PGP.several, "it holds several keys: give each one an object of its own");
  const end = lines.findIndex((line, i) => i > first && line.trim() === "-----END PGP PUBLIC KEY BLOCK-----");
  if (end < 0) return stop(PGP.armour, "it has no line `-----END PGP PUBLIC KEY BLOCK-----`: it may have been cut");
  const inside = lines.slice(first + 1, end);
  // Header fields, as `Version:`, end at the first empty line.
  const blank = inside.findIndex((line) => line.trim() === "");
  const headed = inside.length > 0 && /^[A-Za-z]+: /.test(inside[0]!);
  const body = inside.slice(headed || blank === 0 ? blank + 1 : 0).filter((line) => line.trim() !== "");
  const sum = body.at(-1)?.startsWith("=") ? body.pop()!.slice(1) : undefined;
  const base64 = body.join("");
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(base64))
    return stop(PGP.armour, "what stands between its first and last line is not base64");
  const bytes = Buffer.from(base64, "base64");
  if (sum !== undefined && Buffer.from(sum, "base64").toString("hex") !== crc24(bytes))
    return stop(PGP.armour, "its checksum does not fit: it was changed or cut on its way");
  return done(bytes);
}

function crc24(bytes: Buffer): string {
  let crc = 0xb704ce;
  for (const byte of bytes) {
    crc ^= byte << 16;
    for (let i = 0; i < 8; i++) {
      crc <<= 1;
      if (crc & 0x1000000) crc ^= 0x1864cfb;
    }
  }
  return (crc & 0xffffff).toString(16).padStart(6, "0");
}

interface Packet {
  tag: number;
  body: Buffer;
}
const cut = () => stop(PGP.packet, "its packets are not whole: it was changed or cut on its way");

function split(bytes: Buffer): Outcome<Packet[]> {
  const out: Packet[] = [];
  for (let at = 0; at < bytes.length; ) {
    if (out.length >= MAX_PACKETS) return stop(PGP.packet, `it has more than ${MAX_PACKETS} packets`);
    const head = bytes[at++]!;
    if (!(head & 0x80)) return cut();
    const size = head & 0x40 ? newLength(bytes, at) : oldLength(bytes, at, head & 3);
    if (!size || size.from + size.length > bytes.length) return cut();
    out.push({
      tag: head & 0x40 ? head & 0x3f : (head >> 2) & 0xf,
      body: bytes.subarray(size.from, size.from + size.length),
    });
    at = size.from + size.length;
  }
  return done(out);
}

type Size = { from: number; length: number } | undefined;

function newLength(bytes: Buffer, at: number): Size {
  const first = bytes[at];
  if (first === undefined) return undefined;
  if (first < 192) return { from: at + 1, length: first };
  if (first < 224)
    return at + 1 < bytes.length ? { from: at + 2, length: ((first - 192) << 8) + bytes[at + 1]! + 192 } : undefined;
  // Lengths in parts are for streams of data; a key has none.
  return first === 255 && at + 5 <= bytes.length ? { from: at + 5, length: bytes.readUInt32BE(at + 1) } : undefined;
}

function oldLength(bytes: Buffer, at: number, type: number): Size {
  const width = [1, 2, 4][type];
  if (width === undefined || at + width > bytes.length) return undefined;
  return { from: at + width, length: bytes.readUIntBE(at, width) };
}

const [PUBLIC, SECRET, SIGNATURE, USER_ID, SUBKEY, SECRET_SUBKEY] = [6, 5, 2, 13, 14, 7];

function read(packets: readonly Packet[]): Outcome<PublicKey> {
  if (packets.some(({ tag }) => tag === SECRET || tag === SECRET_SUBKEY))
    return stop(PGP.secret, "it has a private key in it: export the public one by `gpg --armor --export`");
  const [primary, ...rest] = packets;
  if (primary?.tag !== PUBLIC) return stop(PGP.packet, "it does not begin with a public key");
  if (rest.some(({ tag }) => tag === PUBLIC))
    return stop(PGP.several, "it holds several keys: give each one an object of its own");
  const { body } = primary;
  if (body[0] !== 4) return stop(PGP.version, `its version ${body[0] ?? 0} is not known here: version 4 is`);
  if (body.length < 8) return cut();
  const fingerprint = fingerprintOf(body);
  const createdAt = new Date(body.readUInt32BE(1) * 1_000);
  const said = statements(rest, fingerprint.slice(-16));
  const { lifetime } = said;
  return done({
    fingerprint,
    keyId: fingerprint.slice(-16),
    algorithm: algorithmOf(body),
    createdAt,
    ...(lifetime ? { expiresAt: new Date(createdAt.getTime() + lifetime * 1_000) } : {}),
    revoked: said.revoked,
    ...(said.owner ? { owner: said.owner } : {}),
    subkeys: rest
      .filter(({ tag, body: sub }) => tag === SUBKEY && sub[0] === 4)
      .map(({ body: sub }) => fingerprintOf(sub).slice(-16)),
  });
}

function fingerprintOf(body: Buffer): string {
  const head = Buffer.from([0x99, body.length >> 8, body.length & 0xff]);
  return createHash("sha1").update(head).update(body).digest("hex").toUpperCase();
}

const CURVES: Record<string, string> = {
  "2b06010401da470f01": "Ed25519",
  "2a8648ce3d030107": "NIST P-256",
  "2b81040022": "NIST P-384",
  "2b81040023": "NIST P-521",
  "2b2403030208010107": "Brainpool P-256",
  "2b240303020801010b": "Brainpool P-384",
  "2b240303020801010d": "Brainpool P-512",
  "2b8104000a": "secp256k1",
};

function algorithmOf(body: Buffer): string {
  const id = body[5]!;
  const bits = body.length >= 8 ? body.readUInt16BE(6) : 0;
  if (id >= 1 && id <= 3) return `RSA ${bits}`;
  if (id === 17) return `DSA ${bits}`;
  if (id === 27) return "Ed25519";
  if (id === 28) return "Ed448";
  if (id === 19 || id === 22)
    return CURVES[body.subarray(7, 7 + body[6]!).toString("hex")] ?? (id === 22 ? "EdDSA" : "ECDSA");
  return `algorithm ${id}`;
}

/** What the key's own signatures say of it: those by others, and those over subkeys, say nothing of it. */
function statements(
  packets: readonly Packet[],
  keyId: string,
): { owner?: string; lifetime?: number; revoked: boolean } {
  let revoked = false;
  let user: string | undefined;
  const users: { text: string; primary: boolean; at: number; lifetime: number | undefined }[] = [];
  let direct: { at: number; lifetime: number | undefined } | undefined;
  for (const { tag, body } of packets) {
    // What follows a subkey is about that.
    if (tag === SUBKEY) break;
    if (tag === USER_ID) {
      user = text(body);
      users.push({ text: user, primary: false, at: -1, lifetime: undefined });
    }
    const signature = tag === SIGNATURE ? readSignature(body) : undefined;
    if (!signature || (signature.issuer !== undefined && signature.issuer !== keyId)) continue;
    const { type, at, lifetime, primary } = signature;
    if (type === 0x20) revoked = true;
    // The newest one counts, so that an expiry that was moved is the one that holds.
    else if (type === 0x1f && (!direct || at >= direct.at)) direct = { at, lifetime };
    else if (type >= 0x10 && type <= 0x13) {
      const own = users.at(-1);
      if (own && at >= own.at) users[users.length - 1] = { text: own.text, primary, at, lifetime };
    }
  }
  const best = users.find((one) => one.primary) ?? users[0];
  const lifetime = best?.lifetime ?? direct?.lifetime;
  return { revoked, ...(best ? { owner: best.text } : {}), ...(lifetime ? { lifetime } : {}) };
}

interface Signature {
  type: number;
  at: number;
  lifetime: number | undefined;
  primary: boolean;
  issuer: string | undefined;
}

/** A signature of version 4, as far as it says something of the key. */
function readSignature(body: Buffer): Signature | undefined {
  if (body[0] !== 4 || body.length < 8) return undefined;
  const hashed = body.readUInt16BE(4);
  if (6 + hashed + 2 > body.length) return undefined;
  const plain = 6 + hashed + 2;
  const unhashed = Math.min(body.readUInt16BE(6 + hashed), body.length - plain);
  const signature: Signature = { type: body[1]!, at: 0, lifetime: undefined, primary: false, issuer: undefined };
  for (const [type, value] of subpackets(body.subarray(6, 6 + hashed))) {
    if (type === 2 && value.length === 4) signature.at = value.readUInt32BE();
    if (type === 9 && value.length === 4) signature.lifetime = value.readUInt32BE();
    if (type === 25) signature.primary = value[0] === 1;
    if (type === 33 && value.length === 21) signature.issuer = value.subarray(13).toString("hex").toUpperCase();
    if (type === 16 && value.length === 8) signature.issuer = value.toString("hex").toUpperCase();
  }
  // The unsigned part may contain only the issuer.
  for (const [type, value] of subpackets(body.subarray(plain, plain + unhashed)))
    if (type === 16 && value.length === 8) signature.issuer ??= value.toString("hex").toUpperCase();
  return signature;
}

function twoOctets(bytes: Buffer, at: number): ReturnType<typeof newLength> {
  if (at + 1 >= bytes.length) return undefined;
  return { from: at + 2, length: ((bytes[at]! - 192) << 8) + bytes[at + 1]! + 192 };
}

function* subpackets(bytes: Buffer): Generator<[number, Buffer]> {
  for (let at = 0; at < bytes.length; ) {
    const first = bytes[at]!;
    const size = first >= 192 && first < 255 ? twoOctets(bytes, at) : newLength(bytes, at);
    if (!size || size.length < 1 || size.from + size.length > bytes.length) return;
    yield [bytes[size.from]! & 0x7f, bytes.subarray(size.from + 1, size.from + size.length)];
    at = size.from + size.length;
  }
}

/** A user id for people: one line of valid text. */
const text = (body: Buffer): string => {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not reach a terminal
  const clean = new TextDecoder().decode(body.subarray(0, 1_024)).replace(/[\u0000-\u001f\u007f-\u009f]/g, " ");
  return clean.trim();
};
