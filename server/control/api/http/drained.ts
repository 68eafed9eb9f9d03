import type { ServerResponse } from "node:http";

/** Each answer's one wait: all writes that wait share it, so no listener is left behind, however often the reader stalls. */
const waits = new WeakMap<ServerResponse, Promise<void>>();

/** Waits until the reader takes more, or is gone. A reader that takes nothing for `stallMs` is cut. */
export function drained(res: ServerResponse, stallMs: number): Promise<void> {
  const before = waits.get(res);
  if (before) return before;
  const wait = new Promise<void>((resolve) => {
    const end = () => {
      clearTimeout(timer);
      res.off("drain", end).off("close", end);
      waits.delete(res);
      resolve();
    };
    const timer = setTimeout(() => {
      res.destroy();
      end();
    }, stallMs);
    res.on("drain", end).on("close", end);
    if (res.destroyed) end();
  });
  waits.set(res, wait);
  return wait;
}
