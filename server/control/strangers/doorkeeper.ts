import { type Credential, parseCredential } from "../access/apikey.ts";
import { authenticate, type Caller } from "../access/authenticate.ts";
import type { Signer } from "../access/signer.ts";
import { Problem } from "../domain/problem.ts";
import type { Sql } from "../store/database/sql.ts";
import { namesOf } from "../store/identity/keys.ts";
import { Gate } from "./gate.ts";
import { RollCall } from "./roll-call.ts";

/** Look-ups of workers and tokens for callers that have proven nothing; they share the store with everybody else. */
const LIMITS = { running: 4, waiting: 512, each: 128 };
/** Credentials that were not seen before: twenty queries a second at most, of some milliseconds each. */
const ROLL = { batch: 256, waiting: 1_024, each: 256, pauseMs: 50 };
const MAX_REMEMBERED = 10_000;
/** How long a credential that was not found is refused without another look. Keys are random, so none can be shown before it is made. */
const REFUSED_MS = 10_000;

type Hashed = Extract<Credential, { hash: string }>;

/**
 * Authenticates requests, and keeps forged credentials from taking the store. Every valid credential is still looked up at each request, so
 * that a revoked one is dead at once; that it was seen before only spares it the line in which unknown ones wait.
 */
export class Doorkeeper {
  readonly #gate = new Gate(LIMITS);
  readonly #roll: RollCall;
  readonly #known = new Set<string>();
  readonly #refused = new Map<string, number>();
  readonly #now: () => number;
  #sql: Sql | undefined;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#roll = new RollCall((names) => namesOf(this.#sql!, names), ROLL);
  }

  /**
   * The caller behind an `Authorization` header; undefined when there is none.
   * @throws Problem when too many unknown credentials wait to be looked up.
   */
  async authenticate(
    sql: Sql,
    signer: Pick<Signer, "fitsTaskToken">,
    header: string | undefined,
    network: string,
  ): Promise<Caller | undefined> {
    const credential = parseCredential(header);
    if (!credential) return undefined;
    // A task's token has the service's MAC: the store is asked for genuine ones only.
    if (credential.kind === "task") return authenticate(sql, signer, header);
    if (this.looksForged(credential) || (!this.isKnown(credential) && !(await this.exists(sql, credential, network))))
      return undefined;
    const caller = await authenticate(sql, signer, header);
    this.#remember(credential.hash, caller !== undefined);
    return caller;
  }

  /** Whether the credential was seen before and was good then. */
  isKnown({ hash }: Hashed): boolean {
    return this.#known.has(hash);
  }

  /** Whether the credential was looked up a moment ago and is not valid. */
  looksForged({ hash }: Hashed): boolean {
    const until = this.#refused.get(hash);
    return until !== undefined && until > this.#now();
  }

  /**
   * Whether the store has a credential that is not known yet.
   * @throws Problem when too many unknown credentials wait to be looked up.
   */
  async exists(sql: Sql, { account, hash }: Hashed, network: string): Promise<boolean> {
    this.#sql = sql;
    const found = await this.#roll.exists(`${account} ${hash}`, network);
    if (found === "full") throw tooMany();
    this.#remember(hash, found);
    return found;
  }

  /**
   * Any other look-up for a caller that has not proven anything yet.
   * @throws Problem when too many wait.
   */
  async lookUp<T>(network: string, look: () => Promise<T>): Promise<T> {
    const found = await this.#gate.pass(network, look);
    if (found === "full") throw tooMany();
    return found as T;
  }

  #remember(hash: string, valid: boolean): void {
    this.#known.delete(hash);
    this.#refused.delete(hash);
    const kept = valid ? this.#known : this.#refused;
    if (kept.size >= MAX_REMEMBERED) kept.delete(kept.keys().next().value!);
    if (valid) this.#known.add(hash);
    else this.#refused.set(hash, this.#now() + REFUSED_MS);
  }
}

const tooMany = () =>
  new Problem("too_many_requests", "Too many requests with unknown credentials. Try again in a moment.", {
    retryAfterSeconds: 1,
  });
