import { tryParseDuration } from "../../../base/lang/duration.ts";
import type { Caller } from "../../access/authenticate.ts";
import { Problem } from "../../domain/problem.ts";

const MAX_SECONDS = 10 * 365 * 24 * 3_600;

/** A duration of the contract in seconds, within what a date can hold. */
export function seconds(duration: string, pointer = "/expiresIn"): number {
  const value = (tryParseDuration(duration) ?? 0) / 1_000;
  if (value < 1 || value > MAX_SECONDS)
    throw new Problem("invalid_field", "Use a duration between 1s and ten years, such as `24h`.", { pointer });
  return value;
}

/** How long a credential lives: as long as was asked for, else the default, which the end of the caller's own key cuts short. */
export interface Lifetime {
  expiresInSeconds: number;
  endsBy: Date | undefined;
}

export const lifetimeOf = (caller: Caller | undefined, expiresIn: string | undefined, otherwise: number): Lifetime => ({
  expiresInSeconds: expiresIn === undefined ? otherwise : seconds(expiresIn),
  endsBy: expiresIn === undefined ? endOf(caller) : undefined,
});

/** A key that ends would have no end, if it could make credentials that outlive it. */
export function checkEnd(what: string, made: { expiresAt?: Date | undefined }, caller: Caller | undefined): void {
  const ends = endOf(caller);
  if (!ends || (made.expiresAt && made.expiresAt <= ends)) return;
  throw new Problem(
    "invalid_field",
    `${what} cannot outlive the key that creates it, which ends at ${ends.toISOString()}. Use a shorter duration, or leave \`expiresIn\` out.`,
    { pointer: "/expiresIn" },
  );
}

/** When the key of a caller ends; undefined where it has no end. */
const endOf = (caller: Caller | undefined): Date | undefined =>
  caller?.kind === "key" ? caller.key.expiresAt : undefined;
