/** How long handlers may still answer by themselves after an uncaught error. */
const grace = 5_000;

let crashed: Error | undefined;
const waiting = new Set<(error: Error) => void>();

/** Takes an uncaught error. Handlers that do not answer within the grace time are answered with it, state included. */
export function crash(error: unknown): void {
  crashed = error instanceof Error ? error : new Error(String(error));
  const failure = new Error(`an unexpected error in the provider: ${crashed.message}`, { cause: undefined });
  setTimeout(() => {
    for (const reject of [...waiting]) reject(failure);
  }, grace).unref();
}

/** The result of the work, or the crash that prevents it. */
export function orCrash<T>(work: Promise<T>): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    waiting.add(reject);
    work.then(resolve, reject).finally(() => waiting.delete(reject));
  });
}
