/**
 * How long a test lets something take that is promised within so many milliseconds. The machine that runs all tests does other work too
 * and may be slow, so a promise counts as broken at five times its length there; what it truly takes stands among the figures.
 */
export const within = (promisedMs: number): number => 5 * promisedMs;
