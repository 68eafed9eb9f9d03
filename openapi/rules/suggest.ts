/** The known word that a misspelt one probably means: at most a third of its letters differ, and never more than three. */
export function closest(word: string, known: readonly string[]): string | undefined {
  if (word.length > 64) return undefined;
  const lower = word.toLowerCase();
  let best: string | undefined;
  let least = Math.min(3, Math.floor(word.length / 3)) + 1;
  for (const one of known) {
    const distance = one.toLowerCase() === lower ? 0 : edits(lower, one.toLowerCase(), least);
    if (distance < least) [best, least] = [one, distance];
  }
  return best;
}

/** ` Did you mean …?`, or nothing. */
export function didYouMean(
  word: string,
  known: readonly string[],
  show: (found: string) => string = (found) => `\`${found}\``,
): string {
  const found = closest(word, known);
  return found === undefined ? "" : ` Did you mean ${show(found)}?`;
}

/** How many letters must be added, removed, changed or swapped with their neighbour; `most` when it is not fewer. */
function edits(a: string, b: string, most: number): number {
  if (Math.abs(a.length - b.length) >= most) return most;
  let [before, row] = [[] as number[], Array.from({ length: b.length + 1 }, (_, i) => i)];
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      let cost = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + same);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) cost = Math.min(cost, before[j - 2]! + 1);
      next.push(cost);
    }
    [before, row] = [row, next];
  }
  return row[b.length]!;
}
