import { CERTIFICATE, CERTIFICATE_FINGERPRINT } from "../testing.ts";
import { readCertificates } from "./certificates.ts";

test("certificates are read with their fingerprint and end, whatever stands between them", () => {
  const one = {
    fingerprint: CERTIFICATE_FINGERPRINT,
    subject: "CN=git.example.com",
    expiresAt: new Date("2036-11-19T02:03:56Z"),
  };
  expect(readCertificates(`# ours\n${CERTIFICATE}\nand again\n${CERTIFICATE}`)).toEqual({
    kind: "done",
    value: [one, one],
  });
});

const bad: [string, string, string][] = [
  ["nothing", "", "NoCertificate"],
  ["a text", "hello", "NoCertificate"],
  ["a certificate that is cut", CERTIFICATE.slice(0, 300), "CertificateInvalid"],
  ["a second one that is cut", CERTIFICATE + CERTIFICATE.slice(0, 300), "CertificateInvalid"],
  ["one with other bytes in it", CERTIFICATE.replace("MIIB", "MIIA"), "CertificateInvalid"],
  [
    "a private key beside it",
    `${CERTIFICATE}-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n`,
    "PrivateKey",
  ],
  ["something else", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", "NoCertificate"],
  ["too many", CERTIFICATE.repeat(257), "TooMany"],
];
test.each(bad)("refuses %s by name", (_, text, reason) => {
  expect(readCertificates(text)).toMatchObject({ kind: "stop", reason });
});
