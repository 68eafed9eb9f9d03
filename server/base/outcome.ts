/**
 * How a step of a loop ends. Exceptions are for bugs; everything a loop expects is one of these four values.
 *
 *   done   the step did what it should; `value` says what
 *   later  try again at a known time (`afterMs`), nothing is wrong
 *   again  it failed in a way that may pass; the caller's back-off decides when
 *   stop   it cannot succeed until its input changes
 */
export type Outcome<T> =
  | { kind: "done"; value: T }
  | { kind: "later"; afterMs: number; reason: string; message: string }
  | { kind: "again"; reason: string; message: string }
  | { kind: "stop"; reason: string; message: string };

/** The three outcomes that are not `done`; `reason` is a constant for machines, `message` is for people. */
export type Failure = Exclude<Outcome<never>, { kind: "done" }>;

export const done = <T>(value: T): Outcome<T> => ({ kind: "done", value });
export const later = (afterMs: number, reason: string, message: string): Failure => ({
  kind: "later",
  afterMs,
  reason,
  message,
});
export const again = (reason: string, message: string): Failure => ({ kind: "again", reason, message });
export const stop = (reason: string, message: string): Failure => ({ kind: "stop", reason, message });
