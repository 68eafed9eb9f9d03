import { canonical } from "../../base/json/canonical.ts";
import type { Enrolled } from "../../link/identity/enrol.ts";
import { type Hello, hello } from "../../link/identity/hello.ts";
import { FileIdentity } from "../../link/identity/identity-file.ts";
import { makeKeys, sign } from "../../link/identity/keys.ts";
import { type EnrolmentToken, parseToken } from "../../link/identity/token.ts";
import { tokenOf } from "../../link/settings.ts";
import { Transport } from "../../link/transport/transport.ts";
import { type Check, fail, ok, skipped, warn } from "./check.ts";

export interface ServiceOptions {
  endpoint: string;
  env: NodeJS.ProcessEnv;
  /** Where the identity is kept. */
  identityFile: string;
  version: string;
  /** This machine's clock. */
  now(): number;
}

// Certificates and signed links go by clocks; a minute is what NTP keeps with ease.
const SKEW_SECONDS = 60;

/** HTTP, clock, token and identity: what the service says. */
export async function checkService(options: ServiceOptions): Promise<Check[]> {
  const { endpoint, env } = options;
  const transport = new Transport({ endpoint, env, userAgent: `outpost-doctor/${options.version}` });
  try {
    // Without a pin yet: the token's own pin is checked below.
    const nonce = "outpost-delegate-doctor";
    const asked = await transport.call<Hello>("GET", "/v1/worker/hello", { query: { nonce } });
    if (asked.kind !== "done") return [fail("http", asked.message)];
    if (typeof asked.value?.publicKey !== "string")
      return [fail("http", `${endpoint} did not greet as Outpost does: look at OUTPOST_ENDPOINT`)];
    const skew = transport.clockSkewSeconds + Math.round((Date.now() - options.now()) / 1_000);
    const clock =
      Math.abs(skew) > SKEW_SECONDS
        ? warn(
            "clock",
            `this machine's clock is ${Math.abs(skew)} s ${skew > 0 ? "behind" : "ahead of"} the service's: set it, certificates go by it`,
          )
        : ok("clock", `within ${Math.abs(skew)} s of the service's`);
    const loaded = await new FileIdentity(options.identityFile).load();
    const identity = loaded.kind === "done" && loaded.value?.enrolment ? (loaded.value as Enrolled) : undefined;
    return [
      ok("http", `${endpoint} answers as Outpost does`),
      clock,
      await checkToken(transport, options, identity),
      loaded.kind === "done"
        ? await checkIdentity(transport, identity, options.identityFile)
        : fail("identity", loaded.message),
    ];
  } finally {
    await transport.close();
  }
}

async function checkToken(
  transport: Transport,
  options: ServiceOptions,
  identity: Enrolled | undefined,
): Promise<Check> {
  const text = await tokenOf(options.env)();
  if (text === undefined)
    return identity
      ? skipped("token", "there is none, and with an identity none is needed")
      : fail("token", "there is none: set OUTPOST_TOKEN, OUTPOST_TOKEN_FILE or DELEGATE_TOKEN");
  const token = parseToken(text);
  if (token.kind !== "done") return fail("token", token.message);
  const proven = await hello(transport, { pin: token.value.pin });
  if (proven.kind !== "done" && proven.reason === "ServiceNotTrusted")
    return fail(
      "token",
      `the token ${token.value.id} was made by another service than ${options.endpoint}: look at OUTPOST_ENDPOINT, or create a new token there`,
    );
  if (proven.kind !== "done") return fail("token", proven.message);
  const refused = await askAbout(transport, token.value, options.version);
  if (refused.reason === "worker_proof_invalid" && /nonce/i.test(refused.message))
    return ok("token", `${token.value.id} can be used`);
  const text2 = `${token.value.id}: ${refused.message}`;
  return identity ? warn("token", `${text2} The identity that is kept goes on without it`) : fail("token", text2);
}

/** Asks with a nonce that the service never gave: a good token is refused for that, and a bad one for itself. */
async function askAbout(
  transport: Transport,
  token: EnrolmentToken,
  version: string,
): Promise<{ reason: string; message: string }> {
  const { signKey, sealKey } = await makeKeys();
  const fields = { tokenId: token.id, nonce: "outpost-delegate-doctor", signKey, sealKey, instance: "doctor", version };
  const body = { ...fields, proof: sign(token.seed, `outpost/enrol/v1\n${canonical(fields)}`) };
  const answer = await transport.call<unknown>("POST", "/v1/worker/enrol", { body });
  return answer.kind === "done" ? { reason: "", message: "the service took a nonce that it never gave" } : answer;
}

async function checkIdentity(transport: Transport, identity: Enrolled | undefined, file: string): Promise<Check> {
  if (!identity) return skipped("identity", "it has not enrolled yet");
  const { id, account, worker, serviceKey } = identity.enrolment;
  const greeted = await hello(transport, { publicKey: serviceKey });
  if (greeted.kind !== "done" && greeted.reason !== "ServiceNotTrusted") return fail("identity", greeted.message);
  if (greeted.kind !== "done")
    return fail(
      "identity",
      `the service has another key than the one it enrolled with: if it was set up again, remove ${file} and give a new token`,
    );
  return ok("identity", `delegate ${id} of account ${account}, worker ${worker}`);
}
