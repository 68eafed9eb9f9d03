/**
 * A text in pieces of which none is longer than `most` as it stands in JSON, where a control character is six; none ends within a character. A
 * piece is one message; cut within a character it would no longer be JSON.
 */
export function* pieces(text: string, most: number): Generator<string> {
  let [from, length] = [0, 0];
  for (let i = 0; i < text.length && text.length - from > most / LONGEST; ) {
    const code = text.codePointAt(i)!;
    const written = writtenAs(code);
    if (length + written > most) {
      yield text.slice(from, i);
      [from, length] = [i, 0];
    }
    length += written;
    i += code > 0xffff ? 2 : 1;
  }
  yield text.slice(from);
}

/** The longest place within `most` at which a text may be cut. */
export const cutAt = (text: string, most: number): number => (text.codePointAt(most - 1)! > 0xffff ? most - 1 : most);

const LONGEST = 6;
const SHORT = new Set([...'"\\\b\t\n\f\r'].map((one) => one.charCodeAt(0)));

function writtenAs(code: number): number {
  if (SHORT.has(code)) return 2;
  // Half of a pair is written as an escape too.
  if (code < 0x20 || (code >= 0xd800 && code <= 0xdfff)) return LONGEST;
  return code > 0xffff ? 2 : 1;
}
