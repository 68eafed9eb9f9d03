/** The order of two texts or numbers, for `sort`: by code units, not by the rules of a language. */
export function compare<T extends string | number | bigint>(a: T, b: T): number {
  if (a < b) return -1;
  return a > b ? 1 : 0;
}
