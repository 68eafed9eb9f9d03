import type { Question } from "../../queries/task.ts";

/** What the link asks the controller: the account whose objects are meant, and the question without its lease. */
export interface Call {
  call: "answer" | "logs";
  account: string;
  question: Question;
}

/** An answer is a sequence of frames: log lines, signs of life, and one end. Each is sealed with its number, so none can be dropped or moved. */
export type Frame = { line: [stream: "system" | "stdout", text: string] } | { alive: true } | { end: unknown };

/** A call is accepted for this long after it was made. */
export const FRESH_MS = 300_000;
export const MAX_CALL_BYTES = 1_000_000;
/** The largest answers have 4 MB of text; written as JSON it grows. */
export const MAX_FRAME_BYTES = 32_000_000;
/** Sent while there is nothing else to send, so that a controller that has gone is noticed. */
export const ALIVE_MS = 5_000;
export const PATH = "/v1/read";

export const boundOfCall = (time: string) => `call ${time}`;
export const boundOfFrame = (call: Buffer, number: number) =>
  `answer ${call.subarray(0, 12).toString("hex")} ${number}`;

export function lengthOf(sealed: Buffer): Buffer {
  const head = Buffer.alloc(4);
  head.writeUInt32BE(sealed.length);
  return head;
}

/** Cuts a stream of bytes into frames as they were written; undefined in place of one that is too large. */
export async function* framesIn(body: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer | undefined> {
  let parts: Buffer[] = [];
  let size = 0;
  let wanted = 4;
  let head = true;
  for await (const chunk of body) {
    parts.push(Buffer.from(chunk));
    size += chunk.length;
    while (size >= wanted) {
      const all = parts.length === 1 ? parts[0]! : Buffer.concat(parts);
      const [part, rest] = [all.subarray(0, wanted), all.subarray(wanted)];
      parts = rest.length ? [rest] : [];
      size = rest.length;
      if (head) {
        wanted = part.readUInt32BE();
        if (wanted > MAX_FRAME_BYTES) return yield undefined;
      } else {
        yield part;
        wanted = 4;
      }
      head = !head;
    }
  }
}
