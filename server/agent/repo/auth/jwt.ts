import { createPrivateKey, createSign, type KeyObject } from "node:crypto";
import { done, type Outcome, stop } from "../../../base/outcome.ts";
import { Secret } from "../../../base/secret.ts";
import { REPO } from "../types.ts";

/** A JWT by RS256 (RFC 7519), with which the owner of a key proves itself; `what` is how the key is called. */
export function signedJwt(pem: string, what: string, claims: object, header: object = {}): Outcome<Secret> {
  let key: KeyObject;
  try {
    key = createPrivateKey(pem);
  } catch {
    return stop(REPO.authentication, `${what} is not a private key in PEM`);
  }
  if (key.asymmetricKeyType !== "rsa") return stop(REPO.authentication, `${what} is not an RSA key`);
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const text = `${part({ alg: "RS256", typ: "JWT", ...header })}.${part(claims)}`;
  return done(new Secret(`${text}.${createSign("RSA-SHA256").update(text).sign(key).toString("base64url")}`));
}
