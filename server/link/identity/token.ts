import { createHash } from "node:crypto";
import { done, type Outcome, stop } from "../../base/outcome.ts";
import { Secret } from "../../base/secret.ts";

/** An enrolment token: the private half of a key that the service knows the public half of, and a pin of the service's own key. */
export interface EnrolmentToken {
  id: string;
  seed: Secret;
  pin: string;
}

// The last two parts may hold `_`, so they are split by their fixed lengths: 32 bytes are 43 characters, the pin has 32.
const TOKEN = /^ot1_([A-Za-z0-9-]{1,128})_([A-Za-z0-9_-]{43})_([A-Za-z0-9_-]{32})$/;

export function parseToken(text: string): Outcome<EnrolmentToken> {
  const found = TOKEN.exec(text.trim());
  if (!found) {
    return stop(
      "TokenMalformed",
      "the enrolment token is not complete: it starts with ot1_ and has four parts; copy it again, without line breaks",
    );
  }
  return done({ id: found[1]!, seed: new Secret(found[2]!), pin: found[3]! });
}

/** The pin of a raw public key (base64url), as in tokens. */
export function pinOf(publicKey: string): string {
  return createHash("sha256").update(Buffer.from(publicKey, "base64url")).digest("base64url").slice(0, 32);
}
