import { createHash } from "node:crypto";
import { done, type Outcome, stop } from "../outcome.ts";

/** A public key as a line of `known_hosts` has it behind the host. */
export interface SshKey {
  type: string;
  base64: string;
  /** As `ssh-keygen -l` shows it: `SHA256:…`. */
  fingerprint: string;
}

const TYPES = new Set([
  "ssh-ed25519",
  "ssh-rsa",
  "ecdsa-sha2-nistp256",
  "ecdsa-sha2-nistp384",
  "ecdsa-sha2-nistp521",
  "sk-ssh-ed25519@openssh.com",
  "sk-ecdsa-sha2-nistp256@openssh.com",
]);
const MOST = 64;

/** Reads public keys, one a line: `ssh-ed25519 AAAA…`, with a comment behind it if any. The failure tells the line. */
export function readSshKeys(text: string): Outcome<SshKey[]> {
  const out: SshKey[] = [];
  for (const [i, whole] of text.split("\n").entries()) {
    const line = whole.trim();
    if (line === "" || line.startsWith("#")) continue;
    const at = `Line ${i + 1}`;
    if (line.startsWith("-----"))
      return stop(
        "NoPublicKey",
        `${at} belongs to a key file: give the lines that \`ssh-keyscan\` prints, without the host.`,
      );
    const [type = "", base64 = ""] = line.split(/\s+/);
    if (!TYPES.has(type)) {
      const hosted = TYPES.has(base64);
      return stop(
        hosted ? "HostInLine" : "KeyTypeUnknown",
        hosted
          ? `${at} begins with a host: leave it out, \`host\` says it.`
          : `${at} does not begin with the type of a key, such as \`ssh-ed25519\`.`,
      );
    }
    if (out.length >= MOST) return stop("TooMany", `It has more than ${MOST} keys.`);
    const blob = Buffer.from(base64, "base64");
    // The key itself begins with its type again.
    const named =
      blob.length > 4 + type.length &&
      blob.readUInt32BE() === type.length &&
      blob.toString("latin1", 4, 4 + type.length) === type;
    if (!/^[A-Za-z0-9+/]+={0,2}$/.test(base64) || !named)
      return stop("KeyInvalid", `${at} is not a key of type ${type}: it may have been cut when it was copied.`);
    out.push({
      type,
      base64,
      fingerprint: `SHA256:${createHash("sha256").update(blob).digest("base64").replace(/=+$/, "")}`,
    });
  }
  return out.length ? done(out) : stop("NoPublicKey", "It has no key.");
}
