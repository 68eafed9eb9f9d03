import { randomBytes } from "node:crypto";
import type { Schemas } from "../../../openapi/client.ts";
import { done, type Outcome, stop } from "../../base/outcome.ts";
import type { Transport } from "../transport/transport.ts";
import { verify } from "./keys.ts";
import { follow } from "./successors.ts";
import { pinOf } from "./token.ts";

export interface Hello {
  nonce: string;
  keyId: string;
  publicKey: string;
}

/** The service that the worker expects: the pin of a token, or the key it stored when it enrolled. */
export type Expected = { pin: string } | { publicKey: string };

/** Lets the service prove that it holds the expected key, and brings a nonce to sign. Until this is done nothing else is sent. */
export async function hello(transport: Transport, expected: Expected): Promise<Outcome<Hello>> {
  const mine = randomBytes(24).toString("base64url");
  const answer = await transport.call<Schemas["WorkerHello"]>("GET", "/v1/worker/hello", { query: { nonce: mine } });
  if (answer.kind !== "done") return answer;
  const { nonce, keyId, publicKey, signature } = answer.value;
  if (![nonce, keyId, publicKey, signature].every((part) => typeof part === "string" && part.length <= 512)) {
    return stop("NotOutpost", `${transport.endpoint} did not greet as Outpost does: look at OUTPOST_ENDPOINT`);
  }
  const known = (key: string) => ("pin" in expected ? pinOf(key) === expected.pin : key === expected.publicKey);
  // The service may have replaced its key since: then the one that is known has named the new one.
  const named = known(publicKey) ? done(true) : follow(known, answer.value.successors, publicKey);
  if (named.kind !== "done") return named;
  if (!named.value || !verify(publicKey, `outpost/hello/v1\n${mine}\n${nonce}`, signature)) {
    const what = "pin" in expected ? "this token was made for" : "this worker enrolled with";
    return stop(
      "ServiceNotTrusted",
      `${transport.endpoint} is not the service that ${what}; nothing was sent to it. Look at OUTPOST_ENDPOINT; if the service was set up again, create a new token`,
    );
  }
  return done({ nonce, keyId, publicKey });
}
