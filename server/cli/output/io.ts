import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { type Colours, colours, useColour } from "../../base/colour.ts";
import { usage } from "./failure.ts";

export interface Sink {
  /** Bytes are written as they are. */
  write(text: string | Uint8Array): void;
  isTTY: boolean;
  columns?: number | undefined;
}

/** Everything the command line touches besides the network, so that a test can stand in for a person. */
export interface Io {
  env: Record<string, string | undefined>;
  out: Sink;
  err: Sink;
  /** Ends with Ctrl-C. */
  signal: AbortSignal;
  stdin(): Promise<string>;
  /** Asks on the terminal without showing the answer; undefined when there is no terminal. */
  askSecret(question: string): Promise<string | undefined>;
  /** Asks on the terminal; undefined when there is no terminal. */
  ask?(question: string): Promise<string | undefined>;
  fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined;
}

// A manifest or a key is smaller; a mistaken `-f /dev/zero` ends here.
const MAX_INPUT = 8 * 1024 * 1024;

export function processIo(signal: AbortSignal): Io {
  const sink = (stream: NodeJS.WriteStream): Sink => ({
    write: (text) => void stream.write(text),
    isTTY: stream.isTTY === true,
    get columns() {
      return stream.columns;
    },
  });
  return {
    env: process.env,
    out: sink(process.stdout),
    err: sink(process.stderr),
    signal,
    stdin: readStdin,
    askSecret,
    ask,
  };
}

/** A file's text, or the standard input for `-`. */
export async function readInput(io: Io, file: string): Promise<string> {
  if (file === "-") return io.stdin();
  const text = await readFile(file, "utf8").catch((error: Error) => Promise.reject(usage(error.message)));
  if (text.length > MAX_INPUT) throw usage(`${file} is larger than ${MAX_INPUT} bytes`);
  return text;
}

export const paint = (io: Io, sink: Sink): Colours => colours(useColour(io.env, sink.isTTY));

async function readStdin(): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of process.stdin) {
    size += (part as Buffer).length;
    if (size > MAX_INPUT) throw usage(`the input is larger than ${MAX_INPUT} bytes`);
    parts.push(part as Buffer);
  }
  return Buffer.concat(parts).toString("utf8");
}

async function askSecret(question: string): Promise<string | undefined> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return undefined;
  process.stderr.write(question);
  const lines = createInterface({ input: process.stdin, terminal: true, output: undefined as never });
  try {
    return await new Promise<string>((resolve) => lines.question("", resolve));
  } finally {
    lines.close();
    process.stderr.write("\n");
  }
}

async function ask(question: string): Promise<string | undefined> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return undefined;
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return await new Promise<string>((resolve) => {
      lines.question(question, resolve);
      // Ctrl-C and Ctrl-D are no consent.
      lines.on("close", () => resolve(""));
    });
  } finally {
    lines.close();
  }
}
