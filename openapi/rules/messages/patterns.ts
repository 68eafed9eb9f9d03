import { words } from "../../contract/patterns.ts";

/** `must be …` for a text that a pattern refuses. */
export function patternFault(pattern: string): string {
  return `must be ${words[pattern] ?? "of another form; see the documentation of this field"}`;
}

export const PATTERNS: readonly string[] = Object.keys(words);

/** Puts the words of its pattern into a message of a validator. */
export const inWords = (message: string): string =>
  message.replace(/^must match pattern "(.*)"$/s, (_, pattern: string) => patternFault(pattern));
