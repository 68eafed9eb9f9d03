import { Worker } from "node:worker_threads";

/** Watches one child and what it starts. */
export interface MemoryWatch {
  /** Whether the child was ended because it took too much. */
  exceeded(): boolean;
  stop(): void;
}

const PERIOD_MS = 10;
const PAGE_BYTES = 4_096;

/*
 * The thread. It is a text so that the source tree and the bundle start it in the same way. `statm` holds the resident pages second.
 * A process that is gone cannot be read, and is forgotten at once: its number may be given to another process.
 */
const THREAD = `
const { parentPort } = require("node:worker_threads");
const { readFileSync, readdirSync } = require("node:fs");
const watched = new Map();
let timer;
const pages = (pid, depth) => {
  let sum = Number(readFileSync("/proc/" + pid + "/statm", "latin1").split(" ")[1]);
  if (depth < 8) for (const thread of readdirSync("/proc/" + pid + "/task"))
    for (const child of read("/proc/" + pid + "/task/" + thread + "/children").split(" ").filter(Boolean))
      try { sum += pages(child, depth + 1); } catch {}
  return sum;
};
const read = (path) => { try { return readFileSync(path, "latin1"); } catch { return ""; } };
const look = () => {
  for (const [id, { pid, maxPages, flag }] of watched) {
    try {
      if (pages(pid, 0) <= maxPages) continue;
      Atomics.store(flag, 0, 1);
      process.kill(-pid, "SIGKILL");
    } catch {}
    watched.delete(id);
  }
  if (watched.size === 0) timer = void clearInterval(timer);
};
parentPort.on("message", (asked) => {
  if (!asked.pid) return watched.delete(asked.id);
  watched.set(asked.id, { ...asked, flag: new Int32Array(asked.shared) });
  timer ??= setInterval(look, ${PERIOD_MS});
});
parentPort.postMessage("ready");
`;

let thread: Promise<Worker> | undefined;
let ids = 0;

/** Starts the thread that watches, once for this process. It keeps no program alive. */
function start(): Promise<Worker> {
  thread ??= new Promise((resolve, reject) => {
    const worker = new Worker(THREAD, {
      eval: true,
      env: {},
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: 16 },
    });
    worker.once("message", () => {
      worker.unref();
      resolve(worker);
    });
    const gone = (error?: Error) => {
      thread = undefined;
      reject(error ?? new Error("the thread that watches memory has ended"));
    };
    worker.once("error", gone);
    worker.once("exit", () => gone());
  });
  return thread;
}

/**
 * Returns a function that watches the resident memory of a child, the leader of its process group. The group is killed when it takes more
 * than `maxBytes`. A thread of its own looks, because this one may be busy for seconds while the child grows.
 */
export async function memoryWatcher(maxBytes: number): Promise<(pid: number) => MemoryWatch> {
  const worker = await start();
  return (pid) => {
    const shared = new SharedArrayBuffer(4);
    const flag = new Int32Array(shared);
    const id = ++ids;
    worker.postMessage({ id, pid, maxPages: Math.floor(maxBytes / PAGE_BYTES), shared });
    return { exceeded: () => Atomics.load(flag, 0) === 1, stop: () => worker.postMessage({ id }) };
  };
}
