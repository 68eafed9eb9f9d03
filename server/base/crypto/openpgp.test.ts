import { ADA, BOB, EVE } from "../testing.ts";
import { parsePublicKey } from "./openpgp.ts";

const head = "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n";
const foot = "\n-----END PGP PUBLIC KEY BLOCK-----\n";

const keys: [string, string, object][] = [
  [
    "an Ed25519 key that ends",
    ADA,
    {
      fingerprint: "F4D67059B2FFE622821C6D87342A4DADA34DB604",
      keyId: "342A4DADA34DB604",
      algorithm: "Ed25519",
      owner: "Ada Example <ada@example.com>",
      expiresAt: new Date("2030-01-02T12:00:00Z"),
      revoked: false,
    },
  ],
  [
    "an RSA key that does not end",
    BOB,
    {
      fingerprint: "7FFE866D5AB4A92DACFE9BAFA348A7EC9A1800B2",
      keyId: "A348A7EC9A1800B2",
      algorithm: "RSA 2048",
      revoked: false,
    },
  ],
  ["a key that was revoked", EVE, { keyId: "15A81F066D7BB98E", owner: "Eve Example <eve@example.com>", revoked: true }],
];
test.each(keys)("reads %s as gpg does", (_, text, want) => {
  const got = parsePublicKey(text);
  expect(got).toMatchObject({ kind: "done", value: want });
  if (got.kind === "done" && !("expiresAt" in want)) expect(got.value.expiresAt).toBeUndefined();
  expect(parsePublicKey(text.replaceAll("\n", "\r\n"))).toEqual(got);
  expect(parsePublicKey(text.replace("BLOCK-----\n\n", "BLOCK-----\nVersion: GnuPG v2\n\n"))).toEqual(got);
});

const bad: [string, string, string][] = [
  ["nothing", "", "ArmourInvalid"],
  ["a text without its end", ADA.slice(0, 200), "ArmourInvalid"],
  ["something that is not base64", `${head}a b c$${foot}`, "ArmourInvalid"],
  ["a key with one letter changed", ADA.replace("mDMEaw", "mDMEax"), "ArmourInvalid"],
  ["two blocks", ADA + EVE, "SeveralKeys"],
  ["a private key", ADA.replaceAll("PUBLIC", "PRIVATE"), "SecretKey"],
  ["a signature", ADA.replaceAll("PUBLIC KEY BLOCK", "SIGNATURE"), "ArmourInvalid"],
  [
    "bytes that are no packets",
    head + Buffer.from("hello, this is not a key").toString("base64") + foot,
    "PacketInvalid",
  ],
  ["a packet that is cut", head + Buffer.from([0x98, 0xff, 4, 0]).toString("base64") + foot, "PacketInvalid"],
  [
    "a key of version 3",
    head + Buffer.from([0x98, 8, 3, 0, 0, 0, 0, 0, 0, 1]).toString("base64") + foot,
    "KeyVersionUnknown",
  ],
  ["more than a megabyte", ADA + " ".repeat(1024 * 1024), "ArmourInvalid"],
];
test.each(bad)("refuses %s by name", (_, text, reason) => {
  expect(parsePublicKey(text)).toMatchObject({ kind: "stop", reason });
});

test("a key that is cut anywhere is refused or read, never thrown at", () => {
  const bytes = Buffer.from(BOB.split("\n").slice(2, -3).join(""), "base64");
  for (let n = 0; n < bytes.length; n++) {
    const got = parsePublicKey(head + bytes.subarray(0, n).toString("base64") + foot);
    expect(["done", "stop"]).toContain(got.kind);
  }
});
