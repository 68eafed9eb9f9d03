/** A signal that follows another one after some time, so that requests on their way can still end by themselves. */
export function later(signal: AbortSignal, milliseconds: number): AbortSignal {
  const own = new AbortController();
  const start = () => void setTimeout(() => own.abort(signal.reason), milliseconds).unref();
  if (signal.aborted) start();
  else signal.addEventListener("abort", start, { once: true });
  return own.signal;
}

/** Waits; an abort ends it at once with the signal's reason. */
export function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason);
      return;
    }
    const stop = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", stop);
      resolve();
    }, milliseconds);
    signal.addEventListener("abort", stop, { once: true });
  });
}
