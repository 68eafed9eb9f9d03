/** Where lines for people go. */
export type Progress = (line: string) => void;

/** How often a long step says that it is still at it. */
const STILL_MS = 15_000;

/** Milliseconds as people read them: `0.4 s`, `12 s`, `3 min 05 s`. */
export function elapsed(ms: number): string {
  if (ms < 9950) return `${(ms / 1000).toFixed(1)} s`;
  const s = Math.round(ms / 1000);
  return s < 60 ? `${s} s` : `${Math.floor(s / 60)} min ${`${s % 60}`.padStart(2, "0")} s`;
}

/** Runs a step with a line at its end, and one in between when it is long. */
export async function step<T>(progress: Progress, what: string, work: () => Promise<T>): Promise<T> {
  const start = Date.now();
  const still = setInterval(() => progress(`${what} … ${elapsed(Date.now() - start)}`), STILL_MS);
  try {
    const value = await work();
    progress(`${what}: ${elapsed(Date.now() - start)}`);
    return value;
  } catch (error) {
    progress(`${what}: failed after ${elapsed(Date.now() - start)}`);
    throw error;
  } finally {
    clearInterval(still);
  }
}
