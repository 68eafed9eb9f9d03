import { createWriteStream } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Session } from "../session/session.ts";
import { say } from "../show.ts";

/** Writes an answer to a file, or to standard output. A file that is there is replaced only by a whole one. */
export async function save(s: Session, answer: Response, to: string): Promise<void> {
  const bytes = answer.body as unknown as AsyncIterable<Uint8Array>;
  if (to === "-") {
    for await (const part of bytes) s.io.out.write(part);
    return;
  }
  const part = `${to}.part-${process.pid}`;
  try {
    await pipeline(Readable.from(bytes), createWriteStream(part, { mode: 0o600 }));
    await rename(part, to);
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
  say(s, `${s.e.green("✓")} wrote ${s.e.bold(to)}`);
}
