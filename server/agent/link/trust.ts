import type { Schemas } from "../../../openapi/client.ts";
import { validateGnupgKeySpec, validateRepositoryCertificateSpec } from "../../../openapi/contract/validators.js";
import { readCertificates } from "../../base/certificates.ts";
import { parsePublicKey } from "../../base/openpgp.ts";
import { type Outcome, stop } from "../../base/outcome.ts";
import { readSshKeys } from "../../base/ssh-keys.ts";
import type { WorkerObject } from "../../link/exchange.ts";
import type { Context } from "./context.ts";
import { putEntry, removeEntry, type Shared } from "./entries.ts";
import { fits } from "./fits.ts";
import { knownHostsOf, withKnownHosts } from "./known-hosts.ts";
import { defined } from "./spec.ts";

type Data = Record<string, string>;

/** A ConfigMap with a key for each part. */
const byKey = (name: string): Shared => ({
  name,
  alone: true,
  has: (data, at) => data[at] !== undefined,
  with: (data, at, _uid, value) => {
    const { [at]: _, ...rest } = data;
    return value === undefined ? rest : { ...rest, [at]: value };
  },
});

export const HOST_KEYS = "ssh_known_hosts";
/** Argo CD's ConfigMaps of what is trusted. Host keys are one text, in which everybody has lines. */
export const TRUST = {
  certificates: byKey("argocd-tls-certs-cm"),
  keys: byKey("argocd-gpg-keys-cm"),
  hosts: {
    name: "argocd-ssh-known-hosts-cm",
    alone: false,
    has: (data, _, uid) => knownHostsOf(data[HOST_KEYS] ?? "", uid).length > 0,
    with: (data, _, uid, value) => ({ ...data, [HOST_KEYS]: withKnownHosts(data[HOST_KEYS] ?? "", uid, value) }),
  } as Shared,
} as const;

/** Writes the certificates of a host, or its keys. */
export async function putCertificate(ctx: Context, object: WorkerObject): Promise<Outcome<undefined>> {
  const spec = fits<Schemas["RepositoryCertificateSpec"]>(validateRepositoryCertificateSpec, object.spec);
  if (spec.kind !== "done") return spec;
  const { type, data } = spec.value;
  const host = spec.value.host.toLowerCase();
  if (type === "https") {
    const read = readCertificates(data);
    return read.kind === "done" ? putEntry(ctx, TRUST.certificates, host, object, `${data.trim()}\n`) : stop(read.reason, read.message);
  }
  const read = readSshKeys(data);
  if (read.kind !== "done") return stop(read.reason, read.message);
  const lines = read.value.map((key) => `${host} ${key.type} ${key.base64}`).join("\n");
  return putEntry(ctx, TRUST.hosts, host, object, lines);
}

/** Of a tombstone only the uid is known, so both places are looked at. */
export async function removeCertificate(ctx: Context, object: WorkerObject): Promise<Outcome<undefined>> {
  const removed = await removeEntry(ctx, TRUST.certificates, object);
  return removed.kind === "done" ? removeEntry(ctx, TRUST.hosts, object) : removed;
}

/** Writes a public key under its id, as Argo CD names it. */
export async function putGnupgKey(ctx: Context, object: WorkerObject): Promise<Outcome<undefined>> {
  const spec = fits<Schemas["GnupgKeySpec"]>(validateGnupgKeySpec, object.spec);
  if (spec.kind !== "done") return spec;
  const read = parsePublicKey(spec.value.publicKey);
  if (read.kind !== "done") return stop(read.reason, read.message);
  return putEntry(ctx, TRUST.keys, read.value.keyId, object, `${spec.value.publicKey.trim()}\n`);
}

export const removeGnupgKey = (ctx: Context, object: WorkerObject): Promise<Outcome<undefined>> => removeEntry(ctx, TRUST.keys, object);

/** What is to be told of a host's certificates. */
export function certificateStatus(data: Data, at: string): Schemas["RepositoryCertificateStatus"] {
  const read = readCertificates(data[at] ?? "");
  if (read.kind !== "done") return { fingerprints: [] };
  const ends = Math.min(...read.value.map(({ expiresAt }) => expiresAt.getTime()));
  return { fingerprints: read.value.map(({ fingerprint }) => fingerprint), expiresAt: new Date(ends).toISOString() };
}

/** What is to be told of a host's keys. */
export function hostKeyStatus(data: Data, uid: string): Schemas["RepositoryCertificateStatus"] {
  const keys = knownHostsOf(data[HOST_KEYS] ?? "", uid).map((line) => line.slice(line.indexOf(" ") + 1));
  const read = readSshKeys(keys.join("\n"));
  return { fingerprints: read.kind === "done" ? read.value.map(({ fingerprint }) => fingerprint) : [] };
}

/** What is to be told of a public key. */
export function gnupgKeyStatus(data: Data, at: string): Schemas["GnupgKeyStatus"] {
  const read = parsePublicKey(data[at] ?? "");
  if (read.kind !== "done") return {};
  const { keyId, fingerprint, owner, algorithm, expiresAt, revoked } = read.value;
  return defined({ keyId, fingerprint, owner, algorithm, expiresAt: expiresAt?.toISOString(), revoked }) as Schemas["GnupgKeyStatus"];
}
