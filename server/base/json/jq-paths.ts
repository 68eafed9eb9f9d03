import type { Hit } from "./jq-values.ts";

/** A place in a document: names of fields and numbers of items from the top. */
export type Path = (string | number)[];

/** A slice is the items that it names: for taking them out that is the same. */
export function placesOf(path: NonNullable<Hit["path"]>): Path[] {
  const last = path.at(-1);
  if (typeof last !== "object") return [path as Path];
  const before = path.slice(0, -1) as Path;
  return Array.from({ length: last.to - last.from }, (_, i) => [...before, last.from + i]);
}

/** Takes what places name out of a copy; the last item of a list first, so that the others stay where they are. */
export function deletePaths<T>(document: T, paths: readonly Path[]): T {
  // Nothing would be left of the document, as with `..`: such an expression is a mistake, and Argo CD refuses it too.
  if (paths.length === 0 || paths.some((path) => path.length === 0)) return document;
  const copy = structuredClone(document);
  for (const path of [...paths].sort((a, b) => comparePaths(b, a))) {
    const last = path.at(-1);
    let at: unknown = copy;
    // Own fields only: `__proto__` leads out of the document.
    for (const step of path.slice(0, -1)) at = owns(at, step) ? at[step] : undefined;
    if (!owns(at, last!)) continue;
    if (Array.isArray(at)) at.splice(last as number, 1);
    else delete at[last!];
  }
  return copy;
}

const owns = (at: unknown, step: string | number): at is Record<string | number, unknown> =>
  typeof at === "object" && at !== null && Object.hasOwn(at, step);

function comparePaths(a: Path, b: Path): number {
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    const [x, y] = [a[i]!, b[i]!];
    if (x === y) continue;
    if (typeof x === "number" && typeof y === "number") return x - y;
    return String(x) < String(y) ? -1 : 1;
  }
  return a.length - b.length;
}
