/** One line of a comparison: kept, only in the old text, only in the new text. */
export interface DiffLine {
  sign: " " | "-" | "+";
  text: string;
}

// Beyond this the table would take more memory than a person has patience: the texts are then shown one after the other.
const MAX_CELLS = 16_000_000;

/** The shortest way from `before` to `after`, line by line (longest common subsequence). */
export function lineDiff(before: string, after: string): DiffLine[] {
  const a = lines(before);
  const b = lines(after);
  const removed = (text: string): DiffLine => ({ sign: "-", text });
  const added = (text: string): DiffLine => ({ sign: "+", text });
  if (a.length * b.length > MAX_CELLS) return [...a.map(removed), ...b.map(added)];
  const w = b.length + 1;
  const common = new Uint32Array((a.length + 1) * w);
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      common[i * w + j] =
        a[i] === b[j] ? common[(i + 1) * w + j + 1]! + 1 : Math.max(common[(i + 1) * w + j]!, common[i * w + j + 1]!);
  const result: DiffLine[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length && j < b.length) {
    if (a[i] === b[j]) {
      result.push({ sign: " ", text: a[i]! });
      i++;
      j++;
    } else if (common[(i + 1) * w + j]! >= common[i * w + j + 1]!) result.push(removed(a[i++]!));
    else result.push(added(b[j++]!));
  }
  return [...result, ...a.slice(i).map(removed), ...b.slice(j).map(added)];
}

/** Only the changed lines with `context` lines around them; `…` marks omitted lines. */
export function hunks(diff: readonly DiffLine[], context = 3): DiffLine[] {
  const near = diff.map((_, i) => diff.slice(Math.max(0, i - context), i + context + 1).some((l) => l.sign !== " "));
  const result: DiffLine[] = [];
  diff.forEach((line, i) => {
    if (near[i]) result.push(line);
    else if (i === 0 || near[i - 1]) result.push({ sign: " ", text: "…" });
  });
  return result;
}

const lines = (text: string): string[] => (text === "" ? [] : text.replace(/\n$/, "").split("\n"));
