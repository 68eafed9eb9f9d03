import type { Readable } from "node:stream";
import { Problem } from "../domain/problem.ts";

/** What bodies may take together, of callers without a valid credential or of those with one. */
export interface BodyLimits {
  /** Bodies that are read at the same time: in all, and of one sender. */
  total: number;
  each: number;
  /** Bytes of these bodies. */
  held: number;
}

export interface Reading {
  /** What counts as one sender: an address, or a webhook. */
  sender: string;
  max: number;
  announced?: number | undefined;
  deadlineMs: number;
}

interface Reader {
  sender: string;
  held: number;
  cut(problem: Problem): void;
}

/** An unfinished body had to make room. Made once: a flood gets it over and over, and an error takes note of its stack each time. */
export const MADE_ROOM = new Problem(
  "too_many_requests",
  "Too many unfinished requests. Send the whole body without a pause, and try again in a moment.",
  { retryAfterSeconds: 1, headers: { Connection: "close" } },
);

const CUT_OFF = new Problem("invalid_request", "The body was cut off.");

/**
 * Reads bodies of callers that have proven nothing. When there are too many, the oldest of the sender with most of them is cut off and not the
 * newcomer: an honest body arrives within moments, a half-sent one grows old.
 */
export class StrangerBodies {
  readonly #limits: BodyLimits;
  /** The oldest first. */
  readonly #readers = new Set<Reader>();
  /** By sender, the oldest first. */
  readonly #own = new Map<string, Set<Reader>>();
  #held = 0;

  constructor(limits: BodyLimits) {
    this.#limits = limits;
  }

  get reading(): number {
    return this.#readers.size;
  }

  /**
   * The bytes of a body.
   * @throws Problem when it is too large or too slow, was cut off, or had to make room.
   */
  read(bytes: Readable, { sender, max, announced, deadlineMs }: Reading): Promise<Buffer> {
    if ((announced ?? 0) > max) return Promise.reject(tooLarge(max));
    this.#makeRoom(sender);
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = [];
      const end = (settle: () => void) => {
        clearTimeout(timer);
        bytes.off("data", onData).off("end", onEnd).off("error", onCut).off("aborted", onCut).off("close", onCut);
        // Without a listener a late error of the connection would end the process.
        bytes.on("error", () => {});
        this.#remove(reader);
        settle();
      };
      const reader: Reader = { sender, held: 0, cut: (problem) => end(() => reject(problem)) };
      const onData = (chunk: Buffer) => {
        reader.held += chunk.length;
        this.#held += chunk.length;
        chunks.push(chunk);
        if (reader.held > max) reader.cut(tooLarge(max));
        else if (this.#held > this.#limits.held) this.#largest()?.cut(MADE_ROOM);
      };
      const onEnd = () => end(() => resolve(Buffer.concat(chunks, reader.held)));
      const onCut = () => reader.cut(CUT_OFF);
      const late = () =>
        reader.cut(
          new Problem("request_timeout", `The body must arrive within ${deadlineMs / 1_000} s.`, {
            headers: { Connection: "close" },
          }),
        );
      const timer = setTimeout(late, deadlineMs);
      this.#add(reader);
      bytes.on("data", onData).once("end", onEnd).once("error", onCut).once("aborted", onCut).once("close", onCut);
    });
  }

  #add(reader: Reader): void {
    this.#readers.add(reader);
    const own = this.#own.get(reader.sender);
    if (own) own.add(reader);
    else this.#own.set(reader.sender, new Set([reader]));
  }

  #remove(reader: Reader): void {
    if (!this.#readers.delete(reader)) return;
    this.#held -= reader.held;
    const own = this.#own.get(reader.sender)!;
    own.delete(reader);
    if (own.size === 0) this.#own.delete(reader.sender);
  }

  #makeRoom(sender: string): void {
    const own = this.#own.get(sender) ?? new Set();
    const [oldest] = own;
    if (own.size >= this.#limits.each) oldest?.cut(MADE_ROOM);
    else if (this.#readers.size >= this.#limits.total) this.#ofMost(() => 1)?.cut(MADE_ROOM);
  }

  /** The oldest body of the sender that holds most bytes. */
  #largest(): Reader | undefined {
    return this.#ofMost((r) => r.held);
  }

  #ofMost(weight: (reader: Reader) => number): Reader | undefined {
    const sums = new Map<string, number>();
    for (const reader of this.#readers) sums.set(reader.sender, (sums.get(reader.sender) ?? 0) + weight(reader));
    const most = Math.max(...sums.values());
    return [...this.#readers].find((r) => sums.get(r.sender) === most && weight(r) > 0);
  }
}

function tooLarge(max: number): Problem {
  const size = max >= 1024 * 1024 ? `${max / 1024 / 1024} MiB` : `${max / 1024} KiB`;
  return new Problem("body_too_large", `The body may have ${size} at most.`, { headers: { Connection: "close" } });
}
