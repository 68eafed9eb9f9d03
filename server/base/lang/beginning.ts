/**
 * At most `longest` UTF-16 units from the start of a text, without half of a character at the end: a lone surrogate, as
 * of an emoji cut in two, is refused by JSON readers and by PostgreSQL.
 */
export const beginning = (text: string, longest: number): string =>
  text.slice(0, longest).replace(/[\ud800-\udbff]$/, "");
