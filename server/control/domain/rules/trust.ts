import { readCertificates } from "../../../base/crypto/certificates.ts";
import { parsePublicKey } from "../../../base/crypto/openpgp.ts";
import { readSshKeys } from "../../../base/crypto/ssh-keys.ts";
import type { Schemas } from "../nouns.ts";
import type { Fault } from "../problem.ts";

/** What is wrong with a certificate or with a host's keys; the agent would not understand them either. */
function certificateFaults({ host, type, data }: Schemas["RepositoryCertificateSpec"]): Fault[] {
  const bracketed = host.startsWith("[");
  if (type === "https" && bracketed)
    return [
      { pointer: "/spec/host", detail: "A certificate counts for every port of a host: give the host's name alone." },
    ];
  const read = type === "https" ? readCertificates(data) : readSshKeys(data);
  return read.kind === "done" ? [] : [{ pointer: "/spec/data", detail: read.message }];
}

/** What is wrong with a public key. One that has expired or was revoked is taken: commits by it are then told apart. */
function gnupgKeyFaults({ publicKey }: Schemas["GnupgKeySpec"]): Fault[] {
  const read = parsePublicKey(publicKey);
  return read.kind === "done"
    ? []
    : [{ pointer: "/spec/publicKey", detail: `The key cannot be used: ${read.message}.` }];
}

/** Whether a project asks for signatures by this key: its commits would all be refused without it. */
function isAskedFor({ publicKey }: Schemas["GnupgKeySpec"], project: Schemas["AppProjectSpec"]): boolean {
  const read = parsePublicKey(publicKey);
  if (read.kind !== "done") return false;
  const policies = project.sourceIntegrity?.git?.policies ?? [];
  const asked = [
    ...policies.flatMap(({ gpg }) => (gpg.mode === "none" ? [] : (gpg.keys ?? []))),
    ...(project.signatureKeys ?? []).map(({ keyID }) => keyID),
  ];
  // By id, long id or fingerprint: each is the end of the longer one.
  return asked.some((id) => read.value.fingerprint.endsWith(id.toUpperCase()));
}

/** Rules of the nouns of trust. */
export const trust = {
  repositorycertificates: { faults: certificateFaults },
  gnupgkeys: { faults: gnupgKeyFaults, neededBy: isAskedFor, needed: "is a key by which commits must be signed for" },
};
