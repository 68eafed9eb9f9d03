import { stripVTControlCharacters } from "node:util";

/** Colours for a terminal. Everything here is plain text when colour is off, so callers never ask. */
export interface Colours {
  bold(text: string): string;
  dim(text: string): string;
  red(text: string): string;
  green(text: string): string;
  yellow(text: string): string;
  cyan(text: string): string;
}

/** Colour is on for a terminal, off with NO_COLOR (no-color.org) or TERM=dumb, and forced by FORCE_COLOR. */
export function useColour(env: Record<string, string | undefined>, isTTY: boolean): boolean {
  if (env.NO_COLOR) return false;
  if (env.FORCE_COLOR) return env.FORCE_COLOR !== "0";
  return isTTY && env.TERM !== "dumb";
}

export function colours(on: boolean): Colours {
  const paint = (open: number, close: number) => (text: string) =>
    on && text ? `\u001b[${open}m${text}\u001b[${close}m` : text;
  return {
    bold: paint(1, 22),
    dim: paint(2, 22),
    red: paint(31, 39),
    green: paint(32, 39),
    yellow: paint(33, 39),
    cyan: paint(36, 39),
  };
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

/** The text as it is read: without colour. */
export const plain = (text: string): string => stripVTControlCharacters(text);

/**
 * Text from somewhere else, safe to show: control characters (which could move the cursor or change the title of the
 * terminal) become visible, line breaks and tabs stay.
 */
export function printable(text: string): string {
  return text.replace(CONTROL, (c) => `\\x${c.charCodeAt(0).toString(16).padStart(2, "0")}`);
}
