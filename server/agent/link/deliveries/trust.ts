import type { Schemas } from "../../../../openapi/client.ts";
import { validateGnupgKeySpec, validateRepositoryCertificateSpec } from "../../../../openapi/contract/validators.js";
import { readCertificates } from "../../../base/crypto/certificates.ts";
import { parsePublicKey } from "../../../base/crypto/openpgp.ts";
import { readSshKeys } from "../../../base/crypto/ssh-keys.ts";
import { done, type Outcome, stop } from "../../../base/outcome.ts";
import type { KubeObject } from "../../../kube/object.ts";
import type { WorkerObject } from "../../../link/exchange.ts";
import { TRUST_NAMES, trustName } from "../../project/trust-names.ts";
import type { AgentContext } from "../context.ts";
import { knownHostsOf, withKnownHosts } from "../credentials/known-hosts.ts";
import { putEntry, removeEntry, type Shared } from "../entries.ts";
import { tenantOfDelivery } from "../names.ts";
import { defined } from "./spec.ts";
import { fits } from "./validate-spec.ts";

type Data = Record<string, string>;
/** A ConfigMap with one part of it. */
type Told = { object: KubeObject; part: string; uid: string };

/** A ConfigMap with a key for each part. */
const byKey = (base: string, tenant?: string): Shared => ({
  name: trustName(base, tenant),
  tenant,
  alone: true,
  has: (data, at) => data[at] !== undefined,
  with: (data, at, _uid, value) => {
    const { [at]: _, ...rest } = data;
    return value === undefined ? rest : { ...rest, [at]: value };
  },
});

export const HOST_KEYS = "ssh_known_hosts";
/** Host keys are one text, in which each object has lines of its own. */
const hosts = (tenant?: string): Shared => ({
  name: trustName(TRUST_NAMES.hosts, tenant),
  tenant,
  alone: false,
  has: (data, _, uid) => knownHostsOf(data[HOST_KEYS] ?? "", uid).length > 0,
  with: (data, _, uid, value) => ({ ...data, [HOST_KEYS]: withKnownHosts(data[HOST_KEYS] ?? "", uid, value) }),
});

/** The ConfigMaps of what a scope trusts: Argo CD's own for the agent's scope, others for each tenant, which only its connections use. */
export const trustOf = (tenant?: string) => ({
  certificates: byKey(TRUST_NAMES.certificates, tenant),
  keys: byKey(TRUST_NAMES.keys, tenant),
  hosts: hosts(tenant),
});
export const TRUST = trustOf();

type Part = keyof typeof TRUST;

/** Writes a part where its scope's are. What an older agent put among the agent's own goes from there. */
async function put(
  ctx: AgentContext,
  part: Part,
  object: WorkerObject,
  [at, value]: [string, string],
): Promise<Outcome<undefined>> {
  const tenant = tenantOfDelivery(object);
  const moved = tenant === undefined ? done(undefined) : await removeEntry(ctx, TRUST[part], object);
  return moved.kind === "done" ? putEntry(ctx, trustOf(tenant)[part], at, object, value) : moved;
}

async function remove(ctx: AgentContext, parts: Part[], object: WorkerObject): Promise<Outcome<undefined>> {
  const tenant = tenantOfDelivery(object);
  for (const part of parts)
    for (const shared of tenant === undefined ? [TRUST[part]] : [trustOf(tenant)[part], TRUST[part]]) {
      const removed = await removeEntry(ctx, shared, object);
      if (removed.kind !== "done") return removed;
    }
  return done(undefined);
}

/** Writes the certificates of a host, or its keys. */
async function putCertificate(ctx: AgentContext, object: WorkerObject): Promise<Outcome<undefined>> {
  const spec = fits<Schemas["RepositoryCertificateSpec"]>(validateRepositoryCertificateSpec, object.spec);
  if (spec.kind !== "done") return spec;
  const { type, data } = spec.value;
  const host = spec.value.host.toLowerCase();
  if (type === "https") {
    const read = readCertificates(data);
    return read.kind === "done"
      ? put(ctx, "certificates", object, [host, `${data.trim()}\n`])
      : stop(read.reason, read.message);
  }
  const read = readSshKeys(data);
  if (read.kind !== "done") return stop(read.reason, read.message);
  const lines = read.value.map((key) => `${host} ${key.type} ${key.base64}`).join("\n");
  return put(ctx, "hosts", object, [host, lines]);
}

/** A tombstone does not say which of the two it was, so both places are looked at. */
const removeCertificate = (ctx: AgentContext, object: WorkerObject): Promise<Outcome<undefined>> =>
  remove(ctx, ["certificates", "hosts"], object);

/** Writes a public key under its id, as Argo CD names it. */
async function putGnupgKey(ctx: AgentContext, object: WorkerObject): Promise<Outcome<undefined>> {
  const spec = fits<Schemas["GnupgKeySpec"]>(validateGnupgKeySpec, object.spec);
  if (spec.kind !== "done") return spec;
  const read = parsePublicKey(spec.value.publicKey);
  if (read.kind !== "done") return stop(read.reason, read.message);
  return put(ctx, "keys", object, [read.value.keyId, `${spec.value.publicKey.trim()}\n`]);
}

const removeGnupgKey = (ctx: AgentContext, object: WorkerObject): Promise<Outcome<undefined>> =>
  remove(ctx, ["keys"], object);

/** The report on a host's certificates. */
export function certificateStatus(data: Data, at: string): Schemas["RepositoryCertificateStatus"] {
  const read = readCertificates(data[at] ?? "");
  if (read.kind !== "done") return { fingerprints: [] };
  const ends = Math.min(...read.value.map(({ expiresAt }) => expiresAt.getTime()));
  return { fingerprints: read.value.map(({ fingerprint }) => fingerprint), expiresAt: new Date(ends).toISOString() };
}

/** The report on a host's keys. */
export function hostKeyStatus(data: Data, uid: string): Schemas["RepositoryCertificateStatus"] {
  const keys = knownHostsOf(data[HOST_KEYS] ?? "", uid).map((line) => line.slice(line.indexOf(" ") + 1));
  const read = readSshKeys(keys.join("\n"));
  return { fingerprints: read.kind === "done" ? read.value.map(({ fingerprint }) => fingerprint) : [] };
}

/** The report on a public key. */
export function gnupgKeyStatus(data: Data, at: string): Schemas["GnupgKeyStatus"] {
  const read = parsePublicKey(data[at] ?? "");
  if (read.kind !== "done") return {};
  const { keyId, fingerprint, owner, algorithm, expiresAt, revoked } = read.value;
  return defined({
    keyId,
    fingerprint,
    owner,
    algorithm,
    expiresAt: expiresAt?.toISOString(),
    revoked,
  }) as Schemas["GnupgKeyStatus"];
}

/** The nouns of trust, as the agent's table of nouns has them. */
export const trust = {
  repositorycertificates: {
    put: putCertificate,
    delete: removeCertificate,
    place: { parts: (tenant?: string) => [trustOf(tenant).certificates, trustOf(tenant).hosts] },
    status: ({ object, part, uid }: Told) =>
      object.metadata.name.startsWith(TRUST_NAMES.hosts)
        ? hostKeyStatus(object.data ?? {}, uid)
        : certificateStatus(object.data ?? {}, part),
  },
  gnupgkeys: {
    put: putGnupgKey,
    delete: removeGnupgKey,
    place: { parts: (tenant?: string) => [trustOf(tenant).keys] },
    status: ({ object, part }: Told) => gnupgKeyStatus(object.data ?? {}, part),
  },
};
