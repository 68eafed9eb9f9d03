import type { Schemas } from "../../openapi/client.ts";
import { canonical } from "../base/json/canonical.ts";
import { again, done, later, type Outcome } from "../base/outcome.ts";
import { pause } from "../base/process/pause.ts";
import { type Ended, type Enrolled, type EnrolOptions, enrol } from "./identity/enrol.ts";
import { hello } from "./identity/hello.ts";
import { sign } from "./identity/keys.ts";
import type { Ask, Transport } from "./transport/transport.ts";

/** An open session; a new object each time, so that holders notice a change by identity. */
export interface Open {
  bearer: string;
  epoch: number;
  renewAt: number;
  heartbeatMs: number;
  leaseMs: number;
  capacity: number;
  /** What the service takes beyond the first version of the protocol. */
  features: readonly string[];
  identity: Enrolled;
}

const TOKEN_LOOK_MS = 2_000;
const IN_USE_MS = 5_000;

/** What a delegate says of itself when it opens a session. */
export type Facts = Pick<Schemas["SessionRequest"], "capabilities" | "lacking" | "tags" | "type">;

export interface SessionOptions extends Omit<EnrolOptions, "ended"> {
  facts?: (() => Facts) | undefined;
  clusterVersion?: string | undefined;
  /** The service has given this identity up, and all leases with it. */
  ended?: (why: Ended, message: string) => void;
  opened?: (open: Open) => void;
}

/** Keeps one session of this instance with the service: enrols if need be, opens, renews at two thirds of its life. */
export class Session {
  readonly transport: Transport;
  readonly #options: SessionOptions;
  #open: Open | undefined;
  #opening: Promise<Outcome<Open>> | undefined;
  /** The service is of the version before: it refuses what it does not know of a worker. */
  #older = false;

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

  /** Whether the service takes what only newer ones know. */
  get older(): boolean {
    return this.#older;
  }

  /** The session as it is now, without asking for one. */
  get open(): Open | undefined {
    return this.#open;
  }

  /** The service no longer takes this session. */
  expire(open: Open): void {
    if (this.#open === open) this.#open = undefined;
  }

  /** Waits, or ends early when another token was put in place: a person has just mended it. */
  async wait(ms: number, signal: AbortSignal): Promise<void> {
    const before = await this.#options.token();
    for (const end = performance.now() + ms; !signal.aborted && performance.now() < end; ) {
      await pause(Math.min(TOKEN_LOOK_MS, end - performance.now()), signal);
      if ((await this.#options.token()) !== before) return;
    }
  }

  /** One request within the session; a session that ended meanwhile is replaced once. */
  call<T>(path: string, ask: Ask): Promise<Outcome<T>> {
    return this.send<T>("POST", path, ask);
  }

  async send<T>(method: "POST" | "PUT", path: string, ask: Ask): Promise<Outcome<T>> {
    for (let attempt = 0; ; attempt++) {
      const open = await this.current();
      if (open.kind !== "done") return open;
      const answer = await this.transport.call<T>(method, path, { ...ask, bearer: open.value.bearer });
      if (answer.kind === "done" || (answer.reason !== "session_expired" && answer.reason !== "unauthenticated"))
        return answer;
      this.expire(open.value);
      if (attempt === 1) return answer;
    }
  }

  async #start(): Promise<Outcome<Open>> {
    let first = await this.#try(undefined);
    if (first.kind === "stop" && first.reason === "invalid_request" && !this.#older) {
      this.#older = true;
      first = await this.#try(undefined);
      // It was something else: the words of the whole question count.
      if (first.kind !== "done") this.#older = false;
    }
    if (first.kind === "done" || !isEnded(first.reason)) return first;
    // Its leases went with the identity. The next step is immediate: another token, or a message that says what is missing.
    this.#options.ended?.(first.reason, first.message);
    return this.#try(first.reason);
  }

  #facts(): Facts {
    const { capabilities, ...more } = this.#options.facts?.() ?? {};
    return { ...(capabilities ? { capabilities } : {}), ...(this.#older ? {} : more) };
  }

  /** Learns within the session which key the service has now, so that nothing that came in it is lost. */
  async greet(open: Open): Promise<Outcome<void>> {
    // What belongs to a session that has ended must not overwrite the identity that may have come after it.
    const greeted = await this.#greet(open.identity, () => this.#open === open);
    if (greeted.kind !== "done") return greeted;
    open.identity = greeted.value.identity;
    return done(undefined);
  }

  /** The identity with the service's key as it is now: from here on the former key no longer counts. */
  async #greet(identity: Enrolled, keep = () => true): Promise<Outcome<{ nonce: string; identity: Enrolled }>> {
    const greeted = await hello(this.transport, { publicKey: identity.enrolment.serviceKey });
    if (greeted.kind !== "done") return greeted;
    const { nonce, keyId: serviceKeyId, publicKey: serviceKey } = greeted.value;
    if (serviceKey === identity.enrolment.serviceKey) return done({ nonce, identity });
    const renewed = { ...identity, enrolment: { ...identity.enrolment, serviceKeyId, serviceKey } };
    // Where it cannot be written it holds for this session, and the next one follows the same successors.
    if (keep()) await this.#options.store.save(renewed);
    return done({ nonce, identity: renewed });
  }

  async #try(ended: Ended | undefined): Promise<Outcome<Open>> {
    const options = this.#options;
    const { ended: _, ...rest } = options;
    const enrolled = await enrol({ ...rest, ended });
    if (enrolled.kind !== "done") return enrolled;
    const greeted = await this.#greet(enrolled.value);
    if (greeted.kind !== "done") return greeted;
    const { identity } = greeted.value;
    const { enrolment, keys } = identity;
    const fields = {
      worker: enrolment.worker,
      nonce: greeted.value.nonce,
      instance: options.instance,
      ...(options.clusterUid ? { clusterUid: options.clusterUid } : {}),
      ...(options.clusterVersion ? { clusterVersion: options.clusterVersion } : {}),
      version: options.version,
      ...this.#facts(),
    };
    const body = { ...fields, signature: sign(keys.signSeed, `outpost/session/v1\n${canonical(fields)}`) };
    const answer = await this.transport.call<Schemas["SessionAnswer"]>("POST", "/v1/worker/session", { body });
    if (answer.kind !== "done") {
      // The instance before may have crashed moments ago: then it counts as present for one lease more.
      if (answer.reason === "worker_in_use") return later(IN_USE_MS, answer.reason, answer.message);
      // A proof that was late or came twice, as networks deliver them: the next one is fine.
      return answer.reason === "worker_proof_invalid" ? again(answer.reason, answer.message) : answer;
    }
    const { session, epoch, expiresInSeconds, heartbeatSeconds, leaseSeconds, capacity, features } = answer.value;
    this.#open = {
      bearer: session,
      epoch,
      // Monotonic time: a clock that is set must not end a session, nor keep it.
      renewAt: performance.now() + (expiresInSeconds * 1000 * 2) / 3,
      heartbeatMs: heartbeatSeconds * 1000,
      leaseMs: leaseSeconds * 1000,
      capacity: capacity ?? 1,
      features: features ?? [],
      identity,
    };
    options.opened?.(this.#open);
    return done(this.#open);
  }
}

const isEnded = (reason: string): reason is Ended => reason === "worker_unknown" || reason === "worker_revoked";
