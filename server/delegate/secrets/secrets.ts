import { SHORTEST } from "../../base/crypto/encodings.ts";
import { REDACT_LIMITS, type Redactor } from "../../base/crypto/redact.ts";
import { done, type Failure, type Outcome, stop } from "../../base/outcome.ts";
import { pause } from "../../base/process/pause.ts";
import { findReferences, parseReferences, replaceReferences, type SecretReference } from "../../base/reference.ts";
import { Backoff } from "../../link/transport/retry.ts";
import { refused, SECRET, type SecretSource } from "./source.ts";

/** Sources that do not answer are asked again for so long. */
const PATIENCE_MS = 30_000;
const AT_ONCE = 8;

export interface Resolve {
  params: unknown;
  /** Pointers below which no reference may stand, and what to do instead. */
  plain?: Readonly<Record<string, string>> | undefined;
  /** Why this task may not have a secret; undefined when it may. */
  refuses: (reference: SecretReference) => Failure | undefined;
  /** Hides every value before it is used. */
  redactor: Redactor;
  signal: AbortSignal;
}

/** Puts secrets into parameters, on the delegate and nowhere else. */
export class Secrets {
  readonly #sources: ReadonlyMap<string, SecretSource>;
  readonly #patienceMs: number;

  constructor(sources: ReadonlyMap<string, SecretSource>, patienceMs = PATIENCE_MS) {
    this.#sources = sources;
    this.#patienceMs = patienceMs;
  }

  /** The parameters with every reference replaced. A failure names the place and the reference. */
  async resolve({ params, plain = {}, refuses, redactor, signal }: Resolve): Promise<Outcome<unknown>> {
    const wanted = new Map<string, { reference: SecretReference; pointer: string }>();
    for (const { pointer, text } of findReferences(params)) {
      const parts = parseReferences(text);
      if (parts.kind !== "done") return { ...parts, message: `/params${pointer}: ${parts.message}` };
      const references = parts.value.filter((part) => typeof part !== "string");
      const why = references.length
        ? Object.entries(plain).find(([below]) => pointer === below || pointer.startsWith(`${below}/`))
        : undefined;
      if (why) return refused(`/params${pointer} takes no reference to a secret: ${why[1]}`);
      for (const reference of references)
        if (!wanted.has(reference.text)) wanted.set(reference.text, { reference, pointer });
    }
    // Before anything is read: what one task may not have must not be asked for in its name.
    for (const { reference, pointer } of wanted.values()) {
      const not = refuses(reference);
      if (not) return { ...not, message: `/params${pointer}: ${reference.text}: ${not.message}` };
    }
    if (wanted.size === 0) return done(replaceReferences(params, () => ""));
    if (wanted.size > REDACT_LIMITS.values)
      return refused(`/params refer to more than ${REDACT_LIMITS.values} secrets`);
    const values = new Map<string, string>();
    const ends = performance.now() + this.#patienceMs;
    const timeout = AbortSignal.any([signal, AbortSignal.timeout(this.#patienceMs)]);
    const queue = [...wanted.values()];
    let failure: Failure | undefined;
    const work = async () => {
      for (let next = queue.shift(); next && !failure; next = queue.shift()) {
        const { reference, pointer } = next;
        const read = await this.#read(reference, ends, timeout);
        if (read.kind === "done") values.set(reference.text, read.value);
        else failure ??= { ...read, message: `/params${pointer}: ${reference.text}: ${read.message}` };
      }
    };
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, queue.length) }, work));
    // Also unused values: the message of a source or a kind may quote one of them.
    for (const value of values.values()) redactor.add(value);
    if (failure) return failure;
    const all = [...values.values()].reduce((sum, value) => sum + Buffer.byteLength(value), 0);
    if (all > REDACT_LIMITS.allBytes)
      return refused(`the secrets of /params are larger than ${REDACT_LIMITS.allBytes / 1024} KiB together`);
    return done(replaceReferences(params, ({ text }) => values.get(text)!));
  }

  async #read({ source, path, key }: SecretReference, ends: number, signal: AbortSignal): Promise<Outcome<string>> {
    const from = this.#sources.get(source);
    if (!from) {
      const known = [...this.#sources.keys()].join(", ");
      return stop(SECRET.sourceUnknown, `this delegate has no source ${source}; it has ${known}`);
    }
    const backoff = new Backoff();
    for (;;) {
      const read = await from.read(path, key, signal);
      if (read.kind === "done") return usable(read.value);
      if (read.kind === "stop") return read;
      const wait = backoff.next(read);
      if (signal.aborted || performance.now() + wait > ends) return stop(SECRET.unavailable, read.message);
      await pause(wait, signal);
      if (signal.aborted) return stop(SECRET.unavailable, read.message);
    }
  }
}

/** Whether a value can be passed on and hidden. */
function usable(value: string): Outcome<string> {
  if (Buffer.byteLength(value) > REDACT_LIMITS.valueBytes)
    return refused(`it is larger than ${REDACT_LIMITS.valueBytes / 1024} KiB`);
  if (value.includes("\0")) return refused("it holds a NUL");
  if (value.split("\n").length > REDACT_LIMITS.lines) return refused(`it has more than ${REDACT_LIMITS.lines} lines`);
  if (value.trim().length < SHORTEST)
    return stop(
      SECRET.tooShort,
      `it has fewer than ${SHORTEST} characters: it could not be masked without ruining the log; use a longer one`,
    );
  return done(value);
}
