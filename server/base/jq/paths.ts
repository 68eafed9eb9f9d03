import { child, countCompared, type Hit, isObject, Misfit, type Slice, sliceOf, TooMuch, typeOf } from "./values.ts";

/** A place in a document: names of fields and numbers of items from the top. */
export type Path = (string | number)[];
/** One with slices in it, too. */
export type Steps = NonNullable<Hit["path"]>;

// A list that long would be made for one number; no document has it.
const MAX_INDEX = 100_000;

/** A slice is the items that it names: for taking them out that is the same. */
export function placesOf(path: Steps): Path[] {
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
  const sorted = [...paths].sort((a, b) => comparePaths(b, a));
  for (const [i, path] of sorted.entries()) {
    // What is named twice is one place: the item after it would go, too.
    if (i > 0 && comparePaths(path, sorted[i - 1]!) === 0) continue;
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

/** A path as people write it, a list of names, numbers and `{start, end}`; `end` is not part of a slice. */
export function stepsOf(path: unknown): Steps {
  if (!Array.isArray(path)) throw new Misfit("a path is a list");
  return path.map((step) => {
    if (typeof step === "string" || typeof step === "number") return step;
    if (!isObject(step)) throw new Misfit(`${typeOf(step)} is no step of a path`);
    const bound = (value: unknown, otherwise: number) => {
      if (value === null || value === undefined) return otherwise;
      if (typeof value !== "number") throw new Misfit("the bounds of a slice are numbers");
      return value;
    };
    return { from: bound(step.start, 0), to: bound(step.end, Number.POSITIVE_INFINITY) };
  });
}

/** What stands at a place, and the place as it is counted from the top; nothing where a document ends before. */
export function hitAt(value: unknown, steps: Steps): Hit {
  let hit: Hit = { path: [], value };
  for (const step of steps) {
    if (typeof step === "object")
      hit = sliceOf(hit, step.from, step.to === Number.POSITIVE_INFINITY ? undefined : step.to);
    else hit = child(hit, step);
  }
  return hit;
}

/** A copy with a value at a place; what is missing on the way there is made. */
export function setPath(at: unknown, steps: Steps, value: unknown): unknown {
  const [step, ...rest] = steps;
  if (step === undefined) return value;
  if (typeof step === "string") {
    if (at !== null && at !== undefined && !isObject(at)) throw new Misfit(`${typeOf(at)} has no field ${step}`);
    const fields = at ?? {};
    countCompared(1 + Object.keys(fields).length);
    return {
      ...fields,
      [step]: setPath(Object.hasOwn(fields, step) ? (fields as Record<string, unknown>)[step] : null, rest, value),
    };
  }
  if (at !== null && at !== undefined && !Array.isArray(at)) throw new Misfit(`${typeOf(at)} has no items`);
  const items = [...((at as unknown[] | null | undefined) ?? [])];
  countCompared(1 + items.length);
  if (typeof step === "object") return withSlice(items, step, rest, value);
  const index = Math.trunc(step < 0 ? step + items.length : step);
  if (index < 0) throw new Misfit(`there is no item ${step}`);
  if (index > MAX_INDEX) throw new TooMuch();
  while (items.length < index) items.push(null);
  items[index] = setPath(items[index] ?? null, rest, value);
  return items;
}

function withSlice(items: unknown[], { from, to }: Slice, rest: Steps, value: unknown): unknown[] {
  const end = to === Number.POSITIVE_INFINITY ? undefined : Math.ceil(to);
  const slice = items.slice(Math.floor(from), end);
  const next = setPath(slice, rest, value);
  if (!Array.isArray(next)) throw new Misfit(`${typeOf(next)} cannot take the place of a slice`);
  const start = items.slice(0, Math.floor(from));
  return [...start, ...next, ...items.slice(start.length + slice.length)];
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
