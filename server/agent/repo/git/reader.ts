import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { done, type Outcome, stop } from "../../../base/outcome.ts";
import { REPO } from "../types.ts";
import { gitEnv } from "./git.ts";

export interface GitObject {
  sha: string;
  type: "blob" | "tree" | "commit" | "tag";
  content: Buffer;
}

interface Waiting {
  name: string;
  maxBytes: number;
  resolve(result: Outcome<GitObject | undefined>): void;
}

// A process that was idle for this long gives its memory back.
const IDLE_MS = 60_000;

/**
 * Reads objects of one bare repository through one lasting `git cat-file --batch`: a lookup is a line on a pipe (0.1 ms) instead of
 * a process (5 ms), and no work tree exists that repository content could act on.
 */
export class GitReader {
  readonly #folder: string;
  #child: ChildProcessWithoutNullStreams | undefined;
  #queue: Waiting[] = [];
  #buffer: Buffer[] = [];
  #buffered = 0;
  #header: { sha: string; type: GitObject["type"]; size: number } | undefined;
  #idle: NodeJS.Timeout | undefined;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** `name` is anything `git rev-parse` knows; undefined when the repository does not have it. */
  read(name: string, maxBytes: number): Promise<Outcome<GitObject | undefined>> {
    if (/[\p{Cc}]/u.test(name)) return Promise.resolve(done(undefined));
    return new Promise((resolve) => {
      this.#queue.push({ name, maxBytes, resolve });
      this.#start().stdin.write(`${name}\n`);
    });
  }

  close(): void {
    clearTimeout(this.#idle);
    this.#child?.stdin.end();
    this.#child?.kill();
    this.#child = undefined;
  }

  #start(): ChildProcessWithoutNullStreams {
    clearTimeout(this.#idle);
    if (this.#child) return this.#child;
    const child = spawn("git", ["cat-file", "--batch"], { cwd: this.#folder, env: gitEnv(), stdio: "pipe" });
    this.#child = child;
    child.stdout.on("data", (chunk: Buffer) => {
      if (this.#child !== child) return;
      this.#buffer.push(chunk);
      this.#buffered += chunk.length;
      this.#parse();
    });
    child.stderr.resume();
    child.stdin.on("error", () => {});
    const gone = () => this.#child === child && this.#fail("git cat-file ended unexpectedly");
    child.on("error", gone);
    child.on("exit", gone);
    return child;
  }

  #parse(): void {
    for (;;) {
      const waiting = this.#queue[0];
      if (!waiting) return;
      if (!this.#header) {
        const joined = this.#joined();
        const end = joined.indexOf(10);
        if (end < 0) return;
        const line = joined.subarray(0, end).toString("utf8");
        this.#drop(end + 1);
        const match = /^([0-9a-f]{40,64}) (blob|tree|commit|tag) (\d+)$/.exec(line);
        if (!match) {
          this.#answer(done(undefined));
          continue;
        }
        this.#header = { sha: match[1]!, type: match[2] as GitObject["type"], size: Number(match[3]) };
        if (this.#header.size > waiting.maxBytes) {
          // The only way to skip it is a new process; the requests that wait behind are sent again.
          this.#restart(
            stop(
              REPO.tooLarge,
              `an object of ${this.#header.size} bytes is larger than the limit of ${waiting.maxBytes}`,
            ),
          );
          return;
        }
      }
      const { size, sha, type } = this.#header;
      if (this.#buffered < size + 1) return;
      const content = Buffer.from(this.#joined().subarray(0, size));
      this.#drop(size + 1);
      this.#header = undefined;
      this.#answer(done({ sha, type, content }));
    }
  }

  #answer(result: Outcome<GitObject | undefined>): void {
    this.#queue.shift()!.resolve(result);
    if (this.#queue.length) return;
    this.#idle = setTimeout(() => this.close(), IDLE_MS);
    this.#idle.unref();
  }

  #joined(): Buffer {
    if (this.#buffer.length > 1) this.#buffer = [Buffer.concat(this.#buffer)];
    return this.#buffer[0] ?? Buffer.alloc(0);
  }

  #drop(bytes: number): void {
    const rest = this.#joined().subarray(bytes);
    this.#buffer = rest.length ? [rest] : [];
    this.#buffered = rest.length;
  }

  #reset(): Waiting[] {
    this.close();
    const waiting = this.#queue;
    this.#queue = [];
    this.#buffer = [];
    this.#buffered = 0;
    this.#header = undefined;
    return waiting;
  }

  #restart(result: Outcome<GitObject | undefined>): void {
    const [first, ...rest] = this.#reset();
    first!.resolve(result);
    for (const waiting of rest) {
      this.#queue.push(waiting);
      this.#start().stdin.write(`${waiting.name}\n`);
    }
  }

  #fail(message: string): void {
    for (const waiting of this.#reset()) waiting.resolve({ kind: "again", reason: REPO.unreachable, message });
  }
}
