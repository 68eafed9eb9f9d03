import { X509Certificate } from "node:crypto";
import { done, type Outcome, stop } from "../outcome.ts";

export interface Certificate {
  /** SHA-256, as browsers and `openssl x509 -fingerprint` show it. */
  fingerprint: string;
  subject: string;
  expiresAt: Date;
}

const BLOCK = /-----BEGIN ([A-Z0-9 ]+)-----[\s\S]*?-----END \1-----/g;
// A bundle of every public authority has about 150.
const MOST = 256;

/** Reads the certificates of a PEM text. Text between them is ignored. */
export function readCertificates(text: string): Outcome<Certificate[]> {
  const out: Certificate[] = [];
  for (const [block, kind] of text.matchAll(BLOCK)) {
    if (kind!.includes("PRIVATE KEY"))
      return stop("PrivateKey", "It has a private key in it, which must stay private: give the certificate alone.");
    if (kind !== "CERTIFICATE" && kind !== "TRUSTED CERTIFICATE")
      return stop("NoCertificate", `It has a ${kind!.toLowerCase()} in it: give certificates alone.`);
    if (out.length >= MOST) return stop("TooMany", `It has more than ${MOST} certificates.`);
    const read = tryRead(block);
    if (!read)
      return stop(
        "CertificateInvalid",
        `Certificate ${out.length + 1} of it cannot be read: it may have been cut when it was copied.`,
      );
    out.push(read);
  }
  if (/-----BEGIN/.test(text.replace(BLOCK, "")))
    return stop("CertificateInvalid", "It ends within a certificate: it may have been cut when it was copied.");
  return out.length
    ? done(out)
    : stop("NoCertificate", "It has no certificate: a PEM text begins with `-----BEGIN CERTIFICATE-----`.");
}

function tryRead(pem: string): Certificate | undefined {
  try {
    const { fingerprint256, subject, validTo } = new X509Certificate(pem);
    return { fingerprint: fingerprint256, subject, expiresAt: new Date(validTo) };
  } catch {
    return undefined;
  }
}
