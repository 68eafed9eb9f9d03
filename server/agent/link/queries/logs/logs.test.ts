import { Leases } from "../../../../link/leases.ts";
import { LogTasks } from "./logs.ts";

const reader = (key: string, n: number) => ({
  worker: "w",
  task: `${key}-${n}`,
  kind: "application.logs",
  params: { key },
  fence: 1,
  attempt: 1,
  timeoutSeconds: 60,
});

test.each([
  ["an account", "-/-", "b/shop/one", "a/-/two"],
  ["an organization", "b/-", "b/shop/one", "b/web/two"],
])(
  "of the readers of logs that an agent of %s has, one tenant leaves some to the others",
  async (_, scope, theirs, other) => {
    const logs = new LogTasks();
    const ended: string[] = [];
    const abort = new AbortController();
    const untilEnd = (signal: AbortSignal) =>
      new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    const reads = {
      logs: async (_: string, __: unknown, ___: unknown, signal: AbortSignal) => {
        await untilEnd(signal);
        return { kind: "done", value: undefined };
      },
    };
    const session = {
      call: async (_: string, { body }: { body?: { reason?: string; message?: string } } = {}) =>
        void ended.push(String(body?.message)),
    };
    const run = (key: string, n: number) =>
      logs
        .run(
          { ctx: { scope, account: "acme" }, reads } as never,
          reader(key, n) as never,
          session as never,
          new Leases(),
          abort.signal,
        )
        .catch(() => {});
    const running = Array.from({ length: 9 }, (_, n) => run(theirs, n));
    expect(logs.size).toBe(6);
    running.push(run(other, 1), run(other, 2), run(other, 3));
    expect(logs.size).toBe(8);
    abort.abort();
    await Promise.all(running);
    expect(logs.size).toBe(0);
  },
);
