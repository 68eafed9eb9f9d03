import type { Outcome } from "../../base/outcome.ts";
import { Secret } from "../../base/secret.ts";
import type { Keys } from "./keys.ts";

/** What the service said at enrolment; with the keys, all that a worker needs to come back. */
export interface Enrolment {
  worker: string;
  kind: "agent" | "delegate";
  account: string;
  org?: string;
  project?: string;
  /** Id of the agent or delegate. */
  id: string;
  tokenId: string;
  serviceKeyId: string;
  serviceKey: string;
}

/** Keys are kept before they are used: a lost answer to the enrolment is asked again with the same keys, and gives the same identity. */
export interface Identity {
  keys: Keys;
  enrolment?: Enrolment;
}

/** Where an identity lives. `save` returns the identity that is kept, which is another process's when that one was faster. */
export interface IdentityStore {
  load(): Promise<Outcome<Identity | undefined>>;
  save(identity: Identity): Promise<Outcome<Identity>>;
}

/** As text; it holds the private keys, so only stores call this. */
export function writeIdentity({ keys, enrolment }: Identity): Secret {
  return new Secret(
    JSON.stringify({
      keys: { ...keys, signSeed: keys.signSeed.reveal(), sealSeed: keys.sealSeed.reveal() },
      enrolment,
    }),
  );
}

/** Undefined for a text that is no identity, as an empty one. */
export function readIdentity(text: string): Identity | undefined {
  try {
    const { keys, enrolment } = JSON.parse(text);
    for (const name of ["signSeed", "signKey", "sealSeed", "sealKey"])
      if (typeof keys[name] !== "string") return undefined;
    return {
      keys: { ...keys, signSeed: new Secret(keys.signSeed), sealSeed: new Secret(keys.sealSeed) },
      ...(enrolment ? { enrolment } : {}),
    };
  } catch {
    return undefined;
  }
}

/** An identity for as long as the process lives, as delegates without a disk have it. */
export class MemoryIdentity implements IdentityStore {
  #identity: Identity | undefined;
  async load(): Promise<Outcome<Identity | undefined>> {
    return { kind: "done", value: this.#identity };
  }
  async save(identity: Identity): Promise<Outcome<Identity>> {
    this.#identity = identity;
    return { kind: "done", value: identity };
  }
}
