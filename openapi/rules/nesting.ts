/**
 * How deep maps and lists may lie within each other in a text that is parsed. Parsers and whatever walks through a value call themselves for
 * each level: some hundred more end them with an error, or the whole process, which V8 does when its stack ends within a pattern. Definitions
 * of custom resources, the deepest texts that people write, have some sixty levels.
 */
export const MAX_NESTING = 200;
export const TOO_DEEP = `nested more than ${MAX_NESTING} deep`;

/** Whether a JSON text is nested deeper: one pass that builds nothing. */
export function isJsonTooDeep(text: string, most = MAX_NESTING): boolean {
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === 0x22) {
      for (i++; i < text.length && text.charCodeAt(i) !== 0x22; i++) if (text.charCodeAt(i) === 0x5c) i++;
    } else if (c === 0x7b || c === 0x5b) {
      if (++depth > most) return true;
    } else if (c === 0x7d || c === 0x5d) depth--;
  }
  return false;
}

/** `JSON.parse` for a text from outside. Too deep nesting throws, as a syntax error does. */
export function readJson(text: string): unknown {
  if (isJsonTooDeep(text)) throw new SyntaxError(TOO_DEEP);
  return JSON.parse(text);
}
