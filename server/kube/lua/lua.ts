import { createHash } from "node:crypto";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { again, done, type Outcome, stop } from "../../base/outcome.ts";
import { BOUNDS, type Bounds, type FromThread, type LuaAnswer, type Question, type ThreadData } from "./dialect.ts";

export { BOUNDS, type Bounds } from "./dialect.ts";

/** Constants of what a script can do wrong. */
export const LUA = { broken: "ScriptFailed", slow: "ScriptTimeout", closed: "ScriptsClosed" } as const;

/** A script that did not end is not tried again for so long: each try costs all others its whole time. */
const PENALTY_MS = 60_000;
/** Starting a thread and compiling the machine takes a fifth of a second; a busy computer more. */
const START_MS = 20_000;
/** JavaScript's own memory beside the script's: the object that is judged, twice. */
const THREAD_HEAP_MB = 96;

interface Waiting {
  question: Question;
  digest: string;
  resolve(outcome: Outcome<unknown>): void;
}

/**
 * Runs scripts of users in a thread of its own, one after another: a thread can be ended when a script does not end by itself, and what a
 * script takes in memory is bounded inside its machine. Nothing runs, and nothing is loaded, before the first script.
 */
export class Lua {
  readonly #bounds: Bounds;
  readonly #slow = new Map<string, number>();
  #queue: Waiting[] = [];
  #current: Waiting | undefined;
  #worker: Worker | undefined;
  #ready = false;
  #timer: NodeJS.Timeout | undefined;
  #ids = 0;
  #closed = false;

  constructor(bounds: Partial<Bounds> = {}) {
    this.#bounds = { ...BOUNDS, ...bounds };
  }

  /** What the script returns. `globals` become tables of their own: what it writes into them stays with it. */
  run(script: string, globals: Record<string, unknown>): Promise<Outcome<unknown>> {
    const digest = createHash("sha256").update(script).digest("base64");
    const until = this.#slow.get(digest) ?? 0;
    if (this.#closed) return Promise.resolve(stop(LUA.closed, "scripts are not run any more"));
    if (until > Date.now()) return Promise.resolve(this.#tooSlow());
    this.#slow.delete(digest);
    return new Promise((resolve) => {
      this.#queue.push({ question: { id: ++this.#ids, script, globals }, digest, resolve });
      this.#next();
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    const open = [...(this.#current ? [this.#current] : []), ...this.#queue];
    this.#queue = [];
    this.#current = undefined;
    for (const { resolve } of open) resolve(stop(LUA.closed, "scripts are not run any more"));
    await this.#end();
  }

  #next(): void {
    if (this.#current || this.#closed) return;
    this.#current = this.#queue.shift();
    if (!this.#current) {
      // A thread that waits keeps no program alive.
      this.#worker?.unref();
      return;
    }
    this.#worker ??= this.#start();
    this.#worker.ref();
    if (this.#ready) this.#ask(this.#current);
    else
      this.#after(START_MS, () => again(LUA.broken, `the machine for scripts did not start in ${START_MS / 1_000} s`));
  }

  #ask({ question, digest }: Waiting): void {
    this.#after(this.#bounds.timeoutMs, () => {
      this.#slow.set(digest, Date.now() + PENALTY_MS);
      return this.#tooSlow();
    });
    this.#worker!.postMessage(question);
  }

  #after(ms: number, outcome: () => Outcome<unknown>): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#broke(outcome()), ms);
  }

  #start(): Worker {
    const data: ThreadData = { wasm: machineFile(), memoryBytes: this.#bounds.memoryBytes };
    const worker = startThread(data);
    worker.on("message", (message: FromThread) => {
      if (worker !== this.#worker) return;
      if (message === "ready") {
        this.#ready = true;
        if (this.#current) this.#ask(this.#current);
      } else this.#answered(message);
    });
    const died = (why: string) => worker === this.#worker && this.#broke(stop(LUA.broken, why));
    worker.on("error", (error) => died(`the script broke its machine: ${error.message}`));
    worker.on("exit", () => died("the script ended its machine"));
    return worker;
  }

  #answered(answer: LuaAnswer): void {
    const { current } = { current: this.#current };
    if (current?.question.id !== answer.id) return;
    clearTimeout(this.#timer);
    this.#current = undefined;
    current.resolve("error" in answer ? stop(LUA.broken, answer.error) : done(answer.value));
    this.#next();
  }

  /** The thread is of no use any more; the next script gets a new one. */
  #broke(outcome: Outcome<unknown>): void {
    const current = this.#current;
    this.#current = undefined;
    void this.#end();
    current?.resolve(outcome);
    this.#next();
  }

  async #end(): Promise<void> {
    clearTimeout(this.#timer);
    const worker = this.#worker;
    this.#worker = undefined;
    this.#ready = false;
    await worker?.terminate();
  }

  #tooSlow(): Outcome<unknown> {
    return stop(LUA.slow, `the script did not end within ${this.#bounds.timeoutMs} ms`);
  }
}

const fromSource = import.meta.url.endsWith(".ts");

/** In the bundle both files are beside this one; from source they are where they were written. */
function machineFile(): string {
  if (!fromSource) return fileURLToPath(new URL("./lua.wasm", import.meta.url));
  return createRequire(import.meta.url)
    .resolve("wasmoon")
    .replace(/index\.js$/, "glue.wasm");
}

function startThread(workerData: ThreadData): Worker {
  const options = { workerData, env: {}, resourceLimits: { maxOldGenerationSizeMb: THREAD_HEAP_MB } };
  if (!fromSource) return new Worker(new URL("./lua-thread.cjs", import.meta.url), options);
  const file = new URL("./thread.ts", import.meta.url).href;
  const load = `import("tsx/esm/api").then(({ register }) => (register(), import(${JSON.stringify(file)})))`;
  return new Worker(load, { ...options, eval: true });
}
