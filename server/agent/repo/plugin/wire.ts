/**
 * What the repo server and a plugin's sidecar say to each other: Argo CD's `plugin.ConfigManagementPluginService`, gRPC over a socket of the
 * Pod. So a sidecar made for Argo CD serves us, and ours serves Argo CD. Only the few messages of that service are read and written here.
 */
export const SERVICE = "/plugin.ConfigManagementPluginService/";
export const METHODS = {
  check: `${SERVICE}CheckPluginConfiguration`,
  match: `${SERVICE}MatchRepository`,
  generate: `${SERVICE}GenerateManifest`,
  parameters: `${SERVICE}GetParametersAnnouncement`,
} as const;
/** Our own sidecars tell what they would do as a digest, so that another configuration is other content. */
export const DIGEST_HEADER = "outpost-plugin-digest";
/** How a sidecar asks for what lets git in: Argo CD's `askpass.AskPassService`, and the variables that say where and with what. */
export const ASK_PASS = {
  method: "/askpass.AskPassService/GetCredentials",
  nonce: "ARGOCD_GIT_ASKPASS_NONCE",
  socket: "ARGOCD_ASK_PASS_SOCK",
} as const;
/** The gRPC codes that are used here. */
export const STATUS = {
  ok: 0,
  invalid: 3,
  deadline: 4,
  notFound: 5,
  exhausted: 8,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
} as const;

/** Objects of a rendering, as text. */
export const MAX_MESSAGE = 64_000_000;
/** The files of a source, packed. */
export const MAX_ARCHIVE = 100_000_000;
const CHUNK = 64 * 1024;

export interface Variable {
  name: string;
  value: string;
}

/** The facts about the files before they are sent. */
export interface ManifestMetadata {
  appName: string;
  /** The application's folder among the files. */
  appRelPath: string;
  /** SHA-256 of the archive. */
  checksum: string;
  size: number;
  env: Variable[];
}

export type StreamRequest = { metadata: ManifestMetadata } | { chunk: Buffer };

export function encodeMetadata({ appName, appRelPath, checksum, size, env }: ManifestMetadata): Buffer {
  const entries = env.map(({ name, value }) => bytes(5, Buffer.concat([text(1, name), text(2, value)])));
  const inner = Buffer.concat([text(1, appName), text(2, appRelPath), text(3, checksum), number(4, size), ...entries]);
  return bytes(1, inner);
}

/** An archive as the messages that carry it. */
export function* encodeFile(archive: Buffer): Generator<Buffer> {
  for (let at = 0; at < archive.length; at += CHUNK) yield bytes(2, bytes(1, archive.subarray(at, at + CHUNK)));
}

export function decodeRequest(message: Buffer): StreamRequest {
  for (const [field, value] of fields(message)) {
    if (field === 2 && Buffer.isBuffer(value)) return { chunk: first(value, 1) ?? Buffer.alloc(0) };
    if (field !== 1 || !Buffer.isBuffer(value)) continue;
    const metadata: ManifestMetadata = { appName: "", appRelPath: "", checksum: "", size: 0, env: [] };
    for (const [name, inner] of fields(value)) {
      if (name === 1) metadata.appName = String(inner);
      else if (name === 2) metadata.appRelPath = String(inner);
      else if (name === 3) metadata.checksum = String(inner);
      else if (name === 4) metadata.size = Number(inner);
      else if (name === 5 && Buffer.isBuffer(inner))
        metadata.env.push({ name: String(first(inner, 1) ?? ""), value: String(first(inner, 2) ?? "") });
    }
    return { metadata };
  }
  throw new Error("a message is neither the description of files nor a part of them");
}

export const encodeManifests = (manifests: readonly string[]): Buffer =>
  Buffer.concat(manifests.map((one) => text(1, one)));
export const decodeManifests = (message: Buffer): string[] =>
  [...fields(message)].filter(([field]) => field === 1).map(([, v]) => String(v));

export const encodeSupported = (supported: boolean): Buffer => number(1, supported ? 1 : 0);
export const decodeSupported = (message: Buffer): boolean => flag(message, 1);

export const encodeNonce = (nonce: string): Buffer => text(1, nonce);
export const decodeNonce = (message: Buffer): string => String(first(message, 1) ?? "");
export const encodeCredentials = ({ username, password }: { username: string; password: string }): Buffer =>
  Buffer.concat([text(1, username), text(2, password)]);
export const decodeCredentials = (message: Buffer): { username: string; password: string } => ({
  username: String(first(message, 1) ?? ""),
  password: String(first(message, 2) ?? ""),
});

export interface PluginTraits {
  discovers: boolean;
  wantsGitCredentials: boolean;
}

export const encodeTraits = ({ discovers, wantsGitCredentials }: PluginTraits): Buffer =>
  Buffer.concat([number(1, discovers ? 1 : 0), number(2, wantsGitCredentials ? 1 : 0)]);
export const decodeTraits = (message: Buffer): PluginTraits => ({
  discovers: flag(message, 1),
  wantsGitCredentials: flag(message, 2),
});

/** One message as gRPC frames it; nothing is compressed. */
export function frame(message: Buffer): Buffer {
  const header = Buffer.alloc(5);
  header.writeUInt32BE(message.length, 1);
  return Buffer.concat([header, message]);
}

/** The messages of a stream, each no larger than is accepted. */
export async function* unframe(stream: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<Buffer> {
  let rest = Buffer.alloc(0);
  let parts: Buffer[] = [];
  let [have, want] = [0, 5];
  for await (const part of stream) {
    parts.push(part);
    have += part.length;
    if (have < want) continue;
    rest = Buffer.concat(parts);
    while (rest.length >= 5) {
      if (rest[0] !== 0) throw new Error("a message is compressed, although no compression was requested");
      const size = rest.readUInt32BE(1);
      if (size > maxBytes) throw new Error(`a message has ${size} bytes, more than ${maxBytes}`);
      want = 5 + size;
      if (rest.length < want) break;
      yield rest.subarray(5, want);
      rest = rest.subarray(want);
      want = 5;
    }
    parts = [rest];
    have = rest.length;
  }
  if (have > 0) throw new Error("the stream ends inside a message");
}

function varint(value: number): Buffer {
  const out: number[] = [];
  let left = value;
  while (left > 127) {
    out.push((left % 128) + 128);
    left = Math.floor(left / 128);
  }
  return Buffer.from([...out, left]);
}

const number = (field: number, value: number): Buffer =>
  value === 0 ? Buffer.alloc(0) : Buffer.concat([varint(field * 8), varint(value)]);
export const bytes = (field: number, value: Buffer): Buffer =>
  Buffer.concat([varint(field * 8 + 2), varint(value.length), value]);
export const text = (field: number, value: string): Buffer =>
  value === "" && field !== 2 ? Buffer.alloc(0) : bytes(field, Buffer.from(value));

export function* fields(message: Buffer): Generator<[number, Buffer | number]> {
  let at = 0;
  const read = (): number => {
    let [value, scale] = [0, 1];
    for (let i = 0; i < 10; i++) {
      const byte = message[at++];
      if (byte === undefined) throw new Error("a message ends early");
      value += (byte % 128) * scale;
      if (byte < 128) return value;
      scale *= 128;
    }
    throw new Error("a number has more than ten bytes");
  };
  while (at < message.length) {
    const tag = read();
    const [field, wire] = [Math.floor(tag / 8), tag % 8];
    if (wire === 0) yield [field, read()];
    else {
      const size = wire === 2 ? read() : (FIXED_BYTES[wire] ?? Number.NaN);
      if (!(at + size <= message.length)) throw new Error("a message ends early");
      yield [field, message.subarray(at, at + size)];
      at += size;
    }
  }
}

/** Of the wire types with a fixed size. */
const FIXED_BYTES: Readonly<Record<number, number>> = { 1: 8, 5: 4 };

export const flagField = (field: number): Buffer => number(field, 1);
const first = (message: Buffer, wanted: number): Buffer | undefined => {
  for (const [field, value] of fields(message)) if (field === wanted && Buffer.isBuffer(value)) return value;
  return undefined;
};
const flag = (message: Buffer, wanted: number): boolean =>
  [...fields(message)].some(([field, value]) => field === wanted && value === 1);
