import { Places } from "../../base/places.ts";
import { TrustedProxies } from "./address.ts";
import { StrangerBodies } from "./bodies.ts";
import { Doorkeeper } from "./doorkeeper.ts";
import { Rates } from "./rates.ts";
import { StrangerSockets } from "./sockets.ts";
import { Turns } from "./turns.ts";

export interface StrangerSettings {
  /** Addresses and CIDR ranges of proxies whose `X-Forwarded-For` is believed. */
  trustedProxies?: readonly string[];
  /** Connections without a valid credential; one address may have a quarter of them. */
  connections?: number;
  now?: () => number;
}

const MIB = 1024 * 1024;

/** All that callers without a valid credential may use of one replica. */
export class Strangers {
  readonly proxies: TrustedProxies;
  readonly sockets: StrangerSockets;
  readonly door = new Doorkeeper();
  readonly bodies = new StrangerBodies({ total: 256, each: 64, held: 64 * MIB });
  /** Those of callers with a credential: any tenant's agent may send sixteen megabytes in each of thousands of requests. */
  readonly knownBodies = new StrangerBodies({ total: 20_000, each: 5_000, held: 128 * MIB });
  /** Large bodies that are worked on, which takes some ten times their bytes. */
  readonly heavy = new Places({ total: 8, each: 2 });
  /** Connections that stay open for a moment after a refusal, so that the client can read it. */
  readonly lingering = new Places({ total: 64, each: 16 });
  /** Refusals: callers with a key come between them. */
  readonly turns = new Turns();
  /** Greetings of workers, by address. A service that restarts is greeted by all workers behind one gateway. */
  readonly #greetings: Rates;
  /** Enrolments and sessions that were refused, by address. Workers with a good proof do not count, however many share an address. */
  readonly #failures: Rates;
  /** Refusals of real tokens that are written to the audit trail, by token. */
  readonly refusals = new Rates({ burst: 10, perSecond: 1 / 60 });

  /** @param cut is called with each connection that had to make room for a newer one. */
  constructor({ trustedProxies = [], connections = 4_000, now }: StrangerSettings = {}, cut: () => void = () => {}) {
    this.proxies = new TrustedProxies(trustedProxies);
    this.sockets = new StrangerSockets({ total: connections, each: Math.max(Math.floor(connections / 4), 1) }, cut);
    this.#greetings = new Rates({ burst: 1_000, perSecond: 100 }, now);
    this.#failures = new Rates({ burst: 50, perSecond: 2 }, now);
  }

  /** Whether a worker of this address may greet. It is counted. */
  mayGreet(network: string): boolean {
    return this.#greetings.take(network);
  }

  /**
   * Whether so many proofs of this address were no good that the next ones are looked at only with a nonce that the service gave. That is seen without
   * the store, and greetings are bounded: forged proofs end here, and honest workers of the same address pass.
   */
  isDoubted(network: string): boolean {
    return !this.#failures.hasLeft(network);
  }

  /** An enrolment or a session of this address was refused. */
  failed(network: string): void {
    this.#failures.take(network);
  }
}
