import { SSH_FINGERPRINT, SSH_KEY } from "../testing.ts";
import { readSshKeys } from "./ssh-keys.ts";

test("keys are read with the fingerprint that ssh-keygen shows; comments are for people", () => {
  const [type, base64] = SSH_KEY.split(" ");
  expect(readSshKeys(`# git.example.com\n\n${SSH_KEY} of the host\n`)).toEqual({
    kind: "done",
    value: [{ type, base64, fingerprint: SSH_FINGERPRINT }],
  });
});

const bad: [string, string, string][] = [
  ["nothing", "\n# only this\n", "NoPublicKey"],
  ["a line with a host", `git.example.com ${SSH_KEY}`, "HostInLine"],
  ["an unknown type", "ssh-dss AAAA", "KeyTypeUnknown"],
  ["a key of another type than it says", SSH_KEY.replace("ssh-ed25519", "ssh-rsa"), "KeyInvalid"],
  ["a key that is cut to its type", SSH_KEY.slice(0, 30), "KeyInvalid"],
  ["a private key", "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA", "NoPublicKey"],
  ["too many", `${SSH_KEY}\n`.repeat(65), "TooMany"],
];
test.each(bad)("refuses %s by name", (_, text, reason) => {
  expect(readSshKeys(text)).toMatchObject({ kind: "stop", reason });
});
