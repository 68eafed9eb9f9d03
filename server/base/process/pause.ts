import { onAbort } from "./signal.ts";

/** Waits so many milliseconds. True when they are over, false when the signal ends the wait; it never throws and leaves nothing at the signal. */
export function pause(ms: number, signal?: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve(false);
    const timer = setTimeout(() => {
      withdraw();
      resolve(true);
    }, ms);
    const stop = () => {
      clearTimeout(timer);
      resolve(false);
    };
    const withdraw = signal ? onAbort(signal, stop) : () => undefined;
  });
}
