import { repositoryCertificate as noun } from "../../generated/repository-certificate.ts";
import type { Diagnostics } from "../../schema/diagnostics.ts";
import { attr, root } from "../../value/path.ts";
import { stringField, type ValueMap } from "../../value/value.ts";
import { judgeDelivered } from "../../wait/delivered.ts";
import { checkPem, PEM } from "../checks.ts";
import { createResource } from "../crud/resource.ts";

export const repositoryCertificate = createResource(noun, { validate, judge: judgeDelivered("host") });

/** What `ssh-keyscan` prints has the host in front; here the host is said once, by itself. */
const SSH_KEY =
  /^(ssh-(ed25519|rsa)|ecdsa-sha2-nistp(256|384|521)|sk-(ssh-ed25519|ecdsa-sha2-nistp256)@openssh\.com)\s+AAAA[A-Za-z0-9+/]+=*(\s.*)?$/;

function validate(config: ValueMap, diagnostics: Diagnostics): void {
  const [type, data, host] = ["type", "data", "host"].map((name) => stringField(config, name));
  const at = attr(root, "data");
  if (type === "https" && host?.startsWith("["))
    diagnostics.error(
      "A host with a port",
      "For `https` give the host's name alone: it counts for every port.",
      attr(root, "host"),
    );
  if (data === undefined) return;
  if (data.includes("PRIVATE KEY"))
    diagnostics.error(
      "A private key",
      "That is a private key. Give the public part: a certificate or a host's key.",
      at,
    );
  else if (type === "https") checkPem(data, PEM.certificate, "A certificate", at, diagnostics);
  else if (type === "ssh") sshKeys(data, at, diagnostics);
}

function sshKeys(data: string, at: ReturnType<typeof attr>, diagnostics: Diagnostics): void {
  const lines = data.split("\n").map((line) => line.trim());
  const wrong = lines.findIndex((line) => line !== "" && !line.startsWith("#") && !SSH_KEY.test(line));
  if (wrong >= 0)
    diagnostics.error(
      "Not a host's key",
      `Line ${wrong + 1} is not a key. Give one key a line, without the host: \`ssh-ed25519 AAAA…\`, as \`ssh-keyscan HOST | cut -d' ' -f2-\` prints.`,
      at,
    );
  else if (lines.every((line) => line === "" || line.startsWith("#")))
    diagnostics.error("No host's key", "Give at least one key: `ssh-ed25519 AAAA…`.", at);
}
