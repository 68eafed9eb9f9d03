import { gnupgKey as noun } from "../../generated/gnupg-key.ts";
import type { Diagnostics } from "../../schema/diagnostics.ts";
import { attr, root } from "../../value/path.ts";
import { stringField, type ValueMap } from "../../value/value.ts";
import { judgeDelivered } from "../../wait/delivered.ts";
import { createResource } from "../crud/resource.ts";

export const gnupgKey = createResource(noun, { validate, judge: judgeDelivered("public_key") });

function validate(config: ValueMap, diagnostics: Diagnostics): void {
  const text = stringField(config, "public_key");
  const at = attr(root, "public_key");
  if (text === undefined) return;
  if (text.includes("PRIVATE KEY BLOCK"))
    diagnostics.error("A private key", "That is a private key. Give the public part: `gpg --armor --export KEY`.", at);
  else if ((text.match(/-----BEGIN PGP PUBLIC KEY BLOCK-----/g)?.length ?? 0) > 1)
    diagnostics.error(
      "More than one key",
      "Give one key: each key is an object of its own, so that each can be removed.",
      at,
    );
}
