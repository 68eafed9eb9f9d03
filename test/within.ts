/**
 * How long a test lets something take that is promised within so many milliseconds. The machine that runs all tests does other work too
 * and may be slow, so a promise counts as broken at five times its length there; what it truly takes stands among the figures.
 */
export const within = (promisedMs: number): number => 5 * promisedMs;

/** A wait for a condition has a deadline only to end what hangs, so none is shorter than this, however quick it usually is. */
export const PATIENCE_MS = 90_000;
