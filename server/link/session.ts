import type { Schemas } from "../../openapi/client.ts";
import { canonical } from "../base/canonical.ts";
import { again, done, type Outcome } from "../base/outcome.ts";
import { type Enrolled, type EnrolOptions, enrol } from "./enrol.ts";
import { hello } from "./hello.ts";
import { sign } from "./keys.ts";
import type { Ask, Transport } from "./transport.ts";

/** An open session; a new object each time, so that holders notice a change by identity. */
export interface Open {
  bearer: string;
  epoch: number;
  renewAt: number;
  heartbeatMs: number;
  leaseMs: number;
  capacity: number;
  identity: Enrolled;
}

export interface SessionOptions extends EnrolOptions {
  capabilities?: () => string[];
  clusterVersion?: string | undefined;
  opened?: (open: Open) => void;
}

/** Keeps one session of this instance with the service: enrols if need be, opens, renews at two thirds of its life. */
export class Session {
  readonly transport: Transport;
  readonly #options: SessionOptions;
  #open: Open | undefined;
  #opening: Promise<Outcome<Open>> | undefined;
  // A nonce may also have grown old on a slow line: only a second refusal in a row is about the identity.
  #refusals = 0;

  constructor(options: SessionOptions) {
    this.#options = options;
    this.transport = options.transport;
  }

  /** The open session, a fresh one when there is none or it grows old. Callers share one attempt. */
  async current(): Promise<Outcome<Open>> {
    if (this.#open && performance.now() < this.#open.renewAt) return done(this.#open);
    this.#opening ??= this.#start().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  /** The session as it is now, without asking for one. */
  get open(): Open | undefined {
    return this.#open;
  }

  /** The service no longer takes this session. */
  expire(open: Open): void {
    if (this.#open === open) this.#open = undefined;
  }

  /** One request within the session; a session that ended meanwhile is replaced once. */
  async call<T>(path: string, ask: Ask): Promise<Outcome<T>> {
    for (let attempt = 0; ; attempt++) {
      const open = await this.current();
      if (open.kind !== "done") return open;
      const answer = await this.transport.call<T>("POST", path, { ...ask, bearer: open.value.bearer });
      if (answer.kind === "done" || (answer.reason !== "session_expired" && answer.reason !== "unauthenticated")) return answer;
      this.expire(open.value);
      if (attempt === 1) return answer;
    }
  }

  async #start(): Promise<Outcome<Open>> {
    const options = this.#options;
    const enrolled = await enrol({ ...options, refused: this.#refusals >= 2 });
    if (enrolled.kind !== "done") {
      // Asked again with the old identity after that: the service may have been restored from a backup.
      if (this.#refusals >= 2) this.#refusals = 1;
      return enrolled;
    }
    const identity = enrolled.value;
    const { enrolment, keys } = identity;
    const greeted = await hello(this.transport, { publicKey: enrolment.serviceKey });
    if (greeted.kind !== "done") return greeted;
    const fields = {
      worker: enrolment.worker,
      nonce: greeted.value.nonce,
      instance: options.instance,
      ...(options.clusterUid ? { clusterUid: options.clusterUid } : {}),
      ...(options.clusterVersion ? { clusterVersion: options.clusterVersion } : {}),
      version: options.version,
      ...(options.capabilities ? { capabilities: options.capabilities() } : {}),
    };
    const body = { ...fields, signature: sign(keys.signSeed, `outpost/session/v1\n${canonical(fields)}`) };
    const answer = await this.transport.call<Schemas["SessionAnswer"]>("POST", "/v1/worker/session", { body });
    if (answer.kind !== "done") {
      if (answer.reason === "worker_proof_invalid") this.#refusals++;
      return this.#refusals === 1 && answer.kind === "stop" ? again(answer.reason, answer.message) : answer;
    }
    this.#refusals = 0;
    const { session, epoch, expiresInSeconds, heartbeatSeconds, leaseSeconds, capacity } = answer.value;
    this.#open = {
      bearer: session,
      epoch,
      // Monotonic time: a clock that is set must not end a session, nor keep it.
      renewAt: performance.now() + (expiresInSeconds * 1000 * 2) / 3,
      heartbeatMs: heartbeatSeconds * 1000,
      leaseMs: leaseSeconds * 1000,
      capacity: capacity ?? 1,
      identity,
    };
    options.opened?.(this.#open);
    return done(this.#open);
  }
}
