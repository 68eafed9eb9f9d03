import { parseCredential } from "../access/apikey.ts";
import { authenticate, type Caller } from "../access/authenticate.ts";
import type { Signer } from "../access/signer.ts";
import { Problem } from "../domain/problem.ts";
import type { Sql } from "../store/sql.ts";
import { Gate } from "./gate.ts";

/** Look-ups of credentials that were not seen before; they share the store with everybody else. */
const LIMITS = { running: 4, waiting: 512, each: 128 };
const MAX_REMEMBERED = 10_000;
/** How long a credential that was not found is refused without another look. Keys are random, so none can be shown before it is made. */
const REFUSED_MS = 10_000;

/**
 * Authenticates requests, and keeps forged credentials from taking the store. Every valid credential is still looked up at each request, so
 * that a revoked one is dead at once; that it was valid before only spares it the line in which unknown ones wait.
 */
export class Doorkeeper {
  readonly #gate = new Gate(LIMITS);
  readonly #valid = new Set<string>();
  readonly #refused = new Map<string, number>();
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
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
    const { hash } = credential;
    const until = this.#refused.get(hash);
    if (until !== undefined && until > this.#now()) return undefined;
    const look = () => authenticate(sql, signer, header);
    const caller = this.#valid.has(hash) ? await look() : await this.lookUp(network, look);
    this.#remember(hash, caller !== undefined);
    return caller;
  }

  /**
   * Any look-up for a caller that has not proven anything yet.
   * @throws Problem when too many wait.
   */
  async lookUp<T>(network: string, look: () => Promise<T>): Promise<T> {
    const found = await this.#gate.pass(network, look);
    if (found === "full")
      throw new Problem("too_many_requests", "Too many requests with unknown credentials. Try again in a moment.", {
        retryAfterSeconds: 1,
      });
    return found as T;
  }

  #remember(hash: string, valid: boolean): void {
    this.#valid.delete(hash);
    this.#refused.delete(hash);
    const kept = valid ? this.#valid : this.#refused;
    if (kept.size >= MAX_REMEMBERED) kept.delete(kept.keys().next().value!);
    if (valid) this.#valid.add(hash);
    else this.#refused.set(hash, this.#now() + REFUSED_MS);
  }
}
