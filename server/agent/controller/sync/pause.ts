import { setTimeout as sleep } from "node:timers/promises";

/** Waits; false when the program is told to end before: what is waited for is then for whoever comes after. */
export async function pause(ms: number, ending?: AbortSignal): Promise<boolean> {
  try {
    await sleep(ms, undefined, { signal: ending });
    return true;
  } catch {
    return false;
  }
}
